// Package lint answers the question: do the WORKFLOWS hold together, and with
// the rest of the project? It has nothing but tests.
package lint
