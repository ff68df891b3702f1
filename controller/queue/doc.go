// Package queue answers one question: WHICH KEY IS RECONCILED NEXT?
//
// Fair between namespaces, objects that have begun before those that have not, and each key with a back-off of
// its own: the errors of one object never delay another.
package queue
