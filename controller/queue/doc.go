// Package queue answers one question: WHICH KEY IS RECONCILED NEXT?
//
// Namespaces take turns, and objects that have begun go before those that have not. A key that waits for its back-off
// delays no other key.
package queue
