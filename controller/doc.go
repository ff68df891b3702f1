// Package controller answers one question: HOW IS A WATCH SERVED?
//
// It owns what the pure packages must not have: clients, clocks, goroutines, metrics, events. The comment of type
// Controller describes the data flow.
package controller
