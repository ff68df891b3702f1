// Stoic runs distributed training jobs on Kubernetes. The subcommands are in package cli.
package main

import (
	"os"

	"stoic/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
