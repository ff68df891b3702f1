// Package proxy stands between one operator and its API server, and injects faults.
//
//	Track    the writes that concern one subject, numbered: each may be refused, lost, or be where the operator dies
//	Streams  the watches: held, cut, expired, or as of a past version of the cluster
//
// A subject is a name without a hyphen. It concerns every object whose name is the subject's, or begins with it and a hyphen, and the
// events about those. The rig never uses a name twice.
package proxy
