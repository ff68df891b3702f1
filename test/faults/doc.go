// Command faults answers one question: does an operator bring every object to the same end, whatever goes wrong on the way?
//
//	make faults                               every operator of scenario.Operators, seed 1
//	make faults SEED=2                        other samples, other schedules
//	make faults OPERATOR='cmd {kubeconfig}…'  another operator under the same cases
//	go run ./test/faults -subject foobar      one of the operators
//	go run ./test/faults -h                   all flags
//
// An operator takes part through one file in package scenario; CONTRIBUTING.md says what that file contains.
//
// The command prints a table of goals, cases, failures and times. Each failure has a file with the requests and the versions of
// all objects, and a case name that repeats it: -case 'G1/succeed/crash before write 7'.
package main
