// Package dropin answers one question: DOES A PROGRAM FOR THE CLIENT IN GO OF training-operator COMPILE WITH OURS?
//
// It holds only tests, in a module of its own: the client that is compared is a dependency of nothing else.
package dropin
