// Command crontab-operator serves CronTabs.
package main

import (
	"os"
	_ "time/tzdata" // an image from scratch has no time zones

	"stoic/controller/program"
	"stoic/examples/operators/crontab"
)

func main() {
	os.Exit(program.Program{Name: "crontab-operator", Short: "Starts the runs of CronTabs.", Watches: crontab.Watches()}.Main(os.Args, os.Stdout, os.Stderr))
}
