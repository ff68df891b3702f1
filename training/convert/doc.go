// Package convert answers one question: IS THIS OBJECT A WELL-FORMED TRAINING JOB?
//
// It converts an untyped object to a job in normal form or to a rejection that names every problem with
// its path. The CRD in the cluster may be of any version or have no schema: this package is the trust boundary.
//
//	map[string]any --decode--> wire form --lower--> training.Job
//	                  \            \
//	                   `- problems -`-------------> training.Rejection
//
// Package stoic/convert provides reading and the rules of pods; this package adds the rules of jobs.
package convert
