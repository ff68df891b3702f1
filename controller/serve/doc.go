// Package serve answers one question: WHAT CAN ANOTHER PROGRAM ASK OF THIS PROCESS?
//
// Metrics, health, readiness, profiles: what is counted, and the HTTP servers that answer.
package serve
