// Command foobar-operator serves FooBars and ClusterFooBars.
package main

import (
	"os"

	"stoic/controller/program"
	"stoic/examples/operators/foobar"
)

func main() {
	p := program.Program{Name: "foobar-operator", Short: "Keeps the ConfigMaps of FooBars.", Watches: foobar.Watches()}
	os.Exit(p.Main(os.Args, os.Stdout, os.Stderr))
}
