// Package events answers one question: HAS THE USER BEEN INFORMED?
//
// The Emitter sends Kubernetes events at a bounded rate, loses none that can be emitted again, and sends none twice.
package events
