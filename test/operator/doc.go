// Package operator answers one question: how does an operator run as a separate process, on a control plane of a test?
//
//	Programs.Build   go build, once for each main package and its flags
//	Cluster          a control plane, in a test
//	Until, Await     wait for a condition, in any program and in a test
//	Jobs             jobs as the operator reads them: Head, AwaitState; Canary shows that healthy jobs are not disturbed
//	Overlay          a kustomization that a test adds to one of ours
//	Permit           the user and the permissions that deploy/ gives
//	Start            a command line with placeholders, for any operator -> Process
//	                   AwaitReady, Probe, Metrics, Sample, Text   what it reports
//	                   Pause, Resume, Stop, Kill                  what happens to it
//
// A process ends when the process that started it ends, on Linux however that ends. Elsewhere a killed test may leave an operator behind.
package operator
