// Package watch answers one question: WHAT DOES THE AUTHOR OF AN OPERATOR DEFINE FOR A RESOURCE?
//
// A Watch is one custom resource to serve: its converter, its decision, and what its objects own. Authors use these
// types under their names in package controller.
package watch
