// Package generated answers one question: is a generated file as it would be written? Commands that generate files from the project's own
// data call it, and so have the same -check.
package generated
