// Package dropin answers one question: DOES A PROGRAM FOR THE CLIENT IN GO OF training-operator COMPILE WITH OURS?
//
// It holds only tests, in a module of its own, because nothing else may depend on the former client.
package dropin
