// Stoic is the command line: it checks manifests, explains fields, writes and checks CRDs, and starts a cluster to try the operator on. As
// kubectl-stoic on the PATH it is a plugin of kubectl.
package main

import (
	"os"

	"stoic/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
