// Package golden answers one question: is a test's output what was recorded before?
package golden
