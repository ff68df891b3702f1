// Package manager answers one question: which commands does the program of the operator have?
//
// They are controller, webhook and version. The root of the module is this program, which the image holds. The command line of package cli
// has the same commands for use on a workstation.
package manager
