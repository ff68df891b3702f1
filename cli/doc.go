// Package cli answers one question: which commands does the command line have?
//
// One file per subcommand. A command reads flags, connects what it needs and prints; the other packages do the work. Data is written to
// stdout, messages to stderr. Package command has the exit codes.
package cli
