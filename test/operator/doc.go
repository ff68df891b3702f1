// Package operator answers one question: how does an operator run as a separate process?
//
//	Programs.Build   go build, once for each main package and its flags
//	Cluster          a control plane, in a test
//	Await, Overlay   what a test waits for, and a kustomization that it adds to one of ours
//	Permit           the user and the permissions that deploy/ gives
//	Start            a command line with placeholders, for any operator -> Process
//	                   AwaitReady, Probe, Metrics, Sample, Text   what it reports
//	                   Pause, Resume, Stop, Kill                  what happens to it
//
// A process ends when the process that started it ends, on Linux however that ends. Elsewhere a killed test may leave an operator behind.
package operator
