// Package simulation runs the real controller on a model of the API server while an adversary decides what happens next.
//
// All of the controller runs on the model (package apimodel) in a bubble of package synctest, in which
// time is simulated and one seed decides everything:
//
//	controller.Run --request--> gate --one at a time--> model
//	      ^                      |                        |
//	      '---answer, watch------'<--- the adversary -----'
//
// Whenever all goroutines of the controller wait, the adversary chooses one thing that may happen next. A request is served,
// lost, rejected or answered late; one watch receives one event, or ends; time passes; the process dies; a kubelet, the garbage
// collector or the user acts. After some number of steps the adversary becomes fair. Then the job must reach the state that its
// spec and its pods require, and nothing more may be written. Package oracle judges the history and all requests.
package simulation
