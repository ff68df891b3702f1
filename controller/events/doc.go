// Package events answers one question: HAS THE AUTHOR OF AN OBJECT BEEN TOLD?
//
// The Emitter sends Kubernetes events at a bounded rate, loses none that can be asked for again, and sends none twice.
package events
