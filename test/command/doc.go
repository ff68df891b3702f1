// Package command answers one question: how does a command of test/ begin and end?
//
//	Main   signals, arguments, exit code
//	Parse  flags and their help
//	Open   folders, progress -> Run
//	         Build      the control plane and an operator
//	         Operator   our own
package command
