// Package command begins and ends the commands of test/: arguments, signals, exit code, folders, progress.
//
//	Main   signals, arguments, exit code
//	Parse  flags and their help
//	Open   folders, progress -> Run
//	         Build      the control plane and an operator
//	         Operator   our own
package command
