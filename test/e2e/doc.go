// Package e2e runs jobs on a real node: containers, DNS, permissions, MPI.
//
// `make e2e` runs it: see docs/e2e.md. A plain `go test` skips it.
package e2e
