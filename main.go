// Stoic runs distributed training jobs on Kubernetes. This is the operator, which the image holds; cmd/stoic is the command line.
package main

import (
	"os"

	"stoic/cli/manager"
)

func main() { os.Exit(manager.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
