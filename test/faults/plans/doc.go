// Package plans answers one question: which fault strikes at which point of which run, and how is that tried?
//
//	scenarios --run without a fault--> References (end state, counts, number of writes, versions)
//	                                        |
//	goals: crash, travel, lag, refuse, ...  v
//	   every point that a reference has -> Plans --a seed samples--> a list
//	                                                                   |
//	sandboxes (operator + proxy), many at once on one control plane  <-----'
//	   Attempt: arrange the fault, run the scenario, lift the fault, await the reference's end state, judge
//	                                                                   |
//	Tally: plans, missed, failures, time per goal               <------'
//
// A plan whose point did not occur (for example because writes were coalesced and there was one less than in the reference) is
// counted as missed, not as passed.
package plans
