// Package program answers one question: HOW DO WATCHES BECOME A PROGRAM?
//
// An author of an operator gives Program its name and its watches, and has a command with the flags, the logs, the
// endpoints, the signals and the exit codes of an operator. A program with a command line of its own takes the parts:
//
//	Program       the whole: main calls Main, which returns the exit code
//	Process       a controller with its endpoints for metrics and health, run until a context ends
//	Config        how to reach the API server: a kubeconfig, or the service account of the pod
//	LogFlags      the logger, which also is that of the Kubernetes libraries, and its level while it runs
//	MetricsFlags  where and to whom metrics are served
//	Build         what runs
package program
