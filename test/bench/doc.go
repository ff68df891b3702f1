// Command bench measures what an operator costs, and how soon the pods of its jobs exist.
//
//	make bench                                everything
//	make bench BENCH=jobs:20,stored:1000      some of it, at other sizes
//	make bench OPERATOR='cmd {kubeconfig} …'  another operator, too
//
// Each workload of TFJobs is run by a bare client that makes the fewest writes, by Stoic, and by the other operator if there is
// one, each on a fresh control plane. The table has the ratios of Stoic to the bare client; the exit code is 1 if Stoic misses a budget.
package main
