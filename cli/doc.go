// Package cli answers one question: WHAT CAN I ASK OF IT?
//
// One file per subcommand. A command reads flags, connects what it needs and prints; the other packages do the work. Data is written to
// stdout, messages to stderr.
//
//	exit code   meaning
//	0           done; for validate: nothing wrong
//	1           it failed; for validate: something is wrong with a document
//	2           it was called wrongly: flags, arguments, unreadable input
//	130         it was interrupted before it was done
package cli
