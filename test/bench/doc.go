// Command bench measures what an operator costs, and how soon its jobs run.
//
//	make bench                                everything
//	make bench BENCH=jobs,latency SCALE=0.1   some of it, smaller
//	make bench OPERATOR='cmd {kubeconfig} …'  another operator, too
//
// Each workload of TFJobs is run by a bare client that makes the fewest writes, by Stoic, and by the other operator if there is
// one, each on a fresh control plane. Workloads with other kinds, and with malformed objects, run without the bare client. The table
// has the ratios of Stoic to the bare client; the exit code is 1 if Stoic misses a budget.
package main
