// Command faults answers one question: does an operator bring every job to the same end, whatever goes wrong on the way?
//
//	make faults                               everything, with Stoic, seed 1
//	make faults SEED=2                        other samples, other schedules
//	make faults OPERATOR='cmd {kubeconfig}…'  another operator under the same plans
//	go run ./test/faults -h                   all flags
//
// It prints a table: goals, plans, failures, time. Each failure has a file with the requests and the versions of all
// objects, and a name with which it is tried again: -plan 'G1/succeed/crash before write 7'.
package main
