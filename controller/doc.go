// Package controller answers one question: MAKE IT HAPPEN?
//
// It owns what the pure packages must not have: clients, clocks, goroutines, metrics, events. The flow is
// described once, above type Controller.
package controller
