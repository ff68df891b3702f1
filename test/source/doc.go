// Package source answers one question: what does the source of a package declare?
package source
