// Command foobarset-operator serves FooBarSets and FooBarTasks, or with --resources one of the two.
package main

import (
	"os"

	"stoic/controller/program"
	"stoic/examples/operators/foobarset"
)

func main() {
	os.Exit(program.Program{Name: "foobarset-operator", Short: "Runs the tasks of FooBarSets as Jobs.", Watches: foobarset.Watches()}.Main(os.Args, os.Stdout, os.Stderr))
}
