// Command foo-operator serves Foos.
package main

import (
	"os"

	"stoic/controller/program"
	"stoic/examples/operators/foo"
)

func main() {
	p := program.Program{Name: "foo-operator", Short: "Keeps the Deployments of Foos.", Watches: foo.Watches()}
	os.Exit(p.Main(os.Args, os.Stdout, os.Stderr))
}
