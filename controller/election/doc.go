// Package election answers one question: MAY THIS PROCESS WRITE?
//
// Of several replicas one holds the lease and writes; the others have warm caches and wait.
package election
