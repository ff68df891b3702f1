// Package history answers one question: what happened in the cluster to one job and all that belongs to it?
//
// A Recorder watches every resource that jobs have to do with, in all namespaces, as the administrator, and keeps each
// version of each object. A Life is the part of it that concerns one job.
package history
