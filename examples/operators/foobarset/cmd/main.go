// Command foobarset-operator serves FooBarSets and FooBarTasks, or only one of the two with --resources.
package main

import (
	"os"

	"stoic/controller/program"
	"stoic/examples/operators/foobarset"
)

func main() {
	os.Exit(program.Program{Name: "foobarset-operator", Short: "Runs the tasks of FooBarSets as Jobs.", Watches: foobarset.Watches()}.Main(os.Args, os.Stdout, os.Stderr))
}
