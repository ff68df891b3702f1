// Package workload answers one question: what must an operator do, and when has it done it?
//
//	Session             one workload at one size with one subject, on its own control plane
//	  environment.Environment     the control plane
//	  operator.Process  the subject: the bare client, Stoic, or another operator
//	  watcher           observes jobs and pods as any user would, and when
//	  measure.Audit     the subject's requests
package workload
