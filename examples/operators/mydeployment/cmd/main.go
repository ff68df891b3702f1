// Command mydeployment-operator serves MyDeployments.
package main

import (
	"os"

	"stoic/controller/program"
	"stoic/examples/operators/mydeployment"
)

func main() {
	p := program.Program{Name: "mydeployment-operator", Short: "Keeps and rolls over the pods of MyDeployments.", Watches: mydeployment.Watches()}
	os.Exit(p.Main(os.Args, os.Stdout, os.Stderr))
}
