// Package convert answers one question: IS THIS ONE?
//
// It turns an untyped object into a job in normal form or into a rejection that names every problem with
// its path, and it is the only place where untyped data and typed data meet. The API server's schema may
// be of any age, or absent: this package is the trust boundary.
//
//	map[string]any --decode--> wire form --lower--> schema.Job
//	                  \            \
//	                   `- problems -`-------------> schema.Rejection
//
// Nothing else in the program reads a raw object.
package convert
