// Package command answers one question: how does a program of several commands run?
//
// Exit codes, messages, help, completion and version are the same in both programs.
//
//	exit code   meaning
//	0           done; for validate: nothing wrong
//	1           it failed; for validate: something is wrong with a document
//	2           it was called wrongly: flags, arguments, unreadable input
//	130         it was interrupted before it was done
package command
