// Package cases answers one question: does one act, at one point of one run of one object, change the end of the run?
//
//	scenarios --run without a fault--> references (end state, counts, number of writes, versions)
//	                                        |
//	table.go: goals, points, acts           v
//	   every act at every point that a reference has -> Cases --a seed samples--> a list
//	                                                                                |
//	sandboxes (operator + proxy), many at once on one control plane  <--------------'
//	   Attempt: arrange the fault, run the scenario, lift the fault, await the reference's end state, judge
//
// A case whose point did not occur (for example because writes were coalesced and there was one less than in the reference) is
// counted as missed, not as passed.
package cases
