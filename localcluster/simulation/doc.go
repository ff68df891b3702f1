// Package simulation answers: how do nodes that do not exist, and the pods on
// them, behave? It holds the nodes and the stages that kwok plays.
//
// A pod starts at once and then runs for ever, unless its annotations say
// otherwise:
//
//	simulation.stoic/exit-code        0 to 255: every container ends with it
//	simulation.stoic/run-for          how long it runs before that (default 1s)
//	simulation.stoic/restarts         how often it is restarted in place (default 1)
//	simulation.stoic/terminate-after  how long a deleted pod still runs (default 0s)
//
// Durations are written as in Go ("300ms", "1m30s"). A value that makes no sense
// counts as absent; it affects no other pod. The exit code may be annotated
// while the pod runs, which is the way to make a running pod fail.
//
// What happens at the end of run-for depends on the restart policy, as with a
// real kubelet but for the number of restarts:
//
//	Never                     the pod is Succeeded (exit code 0) or Failed
//	OnFailure, exit code 0    the pod is Succeeded
//	OnFailure, other codes    the containers restart in place, after each further
//	Always, every code        run-for again, until restartCount is "restarts";
//	                          then they run for ever. The pod stays Running.
//
// A deleted pod that runs becomes Failed with exit code 143 (as after SIGTERM)
// just before it vanishes, as kubelets do it; one that has ended or never
// started just vanishes. Finalizers are honoured.
package simulation
