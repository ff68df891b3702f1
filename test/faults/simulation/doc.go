// Package simulation answers one question: does the controller get there, whatever happens on the way?
//
// The real controller, all of it, runs on a model of the API server (package apimodel) in a bubble of package synctest, in
// which time is false and everything is decided by one seed:
//
//	controller.Run --request--> gate --one at a time--> model
//	      ^                      |                        |
//	      '---answer, watch------'<--- the adversary -----'
//
// Whenever all goroutines of the controller wait, the adversary chooses one thing that may happen next: a request is
// served, lost, refused or answered late, one watch hears one event, or ends, time passes, the process dies, a kubelet, the
// garbage collector or the user does something. After some number of steps it becomes fair. Then the job must come to what
// its spec and its pods ask for, and nothing may be written any more.
package simulation
