// Package untyped answers one question: what do tests do with JSON of unknown structure?
package untyped
