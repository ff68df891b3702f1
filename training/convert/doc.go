// Package convert answers one question: IS THIS ONE A JOB?
//
// It turns an untyped object into a job in normal form or into a rejection that names every problem with
// its path. The API server's schema may be of any age, or absent: this package is the trust boundary.
//
//	map[string]any --decode--> wire form --lower--> training.Job
//	                  \            \
//	                   `- problems -`-------------> training.Rejection
//
// Reading, and the rules of pods, are those of package stoic/convert; what knows jobs is here.
package convert
