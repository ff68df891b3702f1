// Package untyped answers one question: what do tests do with JSON of which nothing is known?
package untyped
