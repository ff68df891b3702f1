// Package e2e answers one question: DOES A JOB RUN WHERE ALL IS REAL: nodes, containers, names, permissions, MPI?
//
// `make e2e` runs it: see docs/e2e.md. A plain `go test` skips it.
package e2e
