// Package history answers one question: what happened in the cluster to one object and all that belongs to it?
//
// A Recorder watches the resources that it is given, in all namespaces, as the administrator, and keeps each version of each
// object. A Run is the part of it that concerns one Subject: a job, or what another operator serves.
package history
