// Package lint answers the question: are the WORKFLOWS consistent, and do they match the rest of the project? It has only tests.
package lint
