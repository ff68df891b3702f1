// Package serve answers one question: WHAT CAN ANOTHER PROGRAM ASK OF THIS PROCESS?
//
// It has the metrics, health, readiness and profiles, and the HTTP servers that serve them.
package serve
