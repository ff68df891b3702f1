// Package effort answers one question: how many times the CPU time of another function does a function take? No test may say how
// long something takes: machines differ, and have other work.
package effort
