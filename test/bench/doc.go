// Command bench answers one question: what does an operator cost, and how soon is it finished?
//
//	make bench                                everything, 70 minutes on two cores
//	make bench BENCH=jobs,latency SCALE=0.1   some of it, smaller
//	make bench OPERATOR='cmd {kubeconfig} …'  another operator beside Stoic
//	go run ./test/bench -h                    all flags, all workloads
//	go run ./test/bench -plots FILE.json -o docs/performance
//
// Each workload of TFJobs is run by a bare client that makes the fewest writes (the limit), by Stoic, and by the other operator
// if there is one, each on a fresh control plane. Workloads with other kinds, and with malformed objects, run without the bare
// client. The table compares the subjects, and Stoic with its budgets; the exit code is 1 if Stoic misses one of these.
package main
