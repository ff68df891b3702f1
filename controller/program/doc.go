// Package program answers one question: HOW DO WATCHES BECOME A PROGRAM?
//
// An author of an operator gives Program a name and watches, and gets a command with the flags, the logs, the
// endpoints, the signals and the exit codes of an operator. A program with a command line of its own uses the parts:
//
//	Program       the whole: main calls Main, which returns the exit code
//	Process       a controller with its endpoints for metrics and health, run until a context ends
//	Config        how to reach the API server: a kubeconfig, or the service account of the pod
//	LogFlags      the logger, which the Kubernetes libraries use, too, and its level while the program runs
//	MetricsFlags  where and to whom metrics are served
//	Build         the version, revision and platform of the binary
package program
