// Package workload answers one question: what is an operator given to do, and when is it done?
//
//	Session             one workload at one size with one subject, on a control plane of its own
//	  environment.Environment     the control plane
//	  operator.Process  the subject: the bare client, Stoic, or another operator
//	  watcher           hears of jobs and pods as any user would, and when
//	  measure.Audit     the subject's requests
package workload
