// Package source answers one question: what does the source of a package declare, and what may it?
package source
