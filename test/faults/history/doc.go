// Package history answers one question: what happened in the cluster to one object and all that belongs to it?
//
// A Recorder watches the given resources as the administrator, in all namespaces, and keeps each version of each object. A Run is
// the part of the record that concerns one Subject: a job, or an object of another operator.
package history
