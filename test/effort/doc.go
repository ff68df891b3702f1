// Package effort compares the CPU time of two functions. No test may say how
// long something takes: machines differ, and have other work.
package effort
