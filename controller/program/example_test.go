package program_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stoic/controller"
	"stoic/controller/program"
	"stoic/schema"
)

// A call that cannot work as it was made says why, and ends with 2.
func ExampleProgram() {
	p := program.Program{Name: "foobar-operator", Short: "Keeps the ConfigMaps of FooBars.", Watches: nil /* those of the operator */}
	fmt.Println(p.Main([]string{"foobar-operator", "--no-such-flag"}, os.Stdout, os.Stdout))
	// Output:
	// error: unknown flag: --no-such-flag
	// See 'foobar-operator --help'.
	// 2
}

// An operator that counts its restarts has a metric beside those of the engine.
func ExampleProgram_collectors() {
	restarts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "foobar_operator_restarts_total", Help: "Restarts."}, []string{"namespace"})
	foobars := controller.Watch{ // and the rest of it
		Count: func(head *schema.Head, counted schema.Count) {
			if counted.Counter == "restarts" { // as the plan names it
				restarts.WithLabelValues(head.Meta.Namespace).Inc()
			}
		},
	}
	p := program.Program{Name: "foobar-operator", Short: "Keeps the ConfigMaps of FooBars.", Watches: []controller.Watch{foobars},
		Collectors: []prometheus.Collector{restarts}}
	os.Exit(p.Main(os.Args, os.Stdout, os.Stderr))
}

// A program with a command line of its own runs a process.
func ExampleProcess() {
	run := func(ctx context.Context, watches []controller.Watch) error {
		config, err := program.Config("") // KUBECONFIG, or the service account of the pod
		if err != nil {
			return err
		}
		var flags program.LogFlags
		log, err := flags.Logger(os.Stderr)
		if err != nil {
			return err
		}
		p := program.Process{Registry: program.NewRegistry(), Version: "v1.2.3", UserAgent: "foobar-operator", Metrics: program.MetricsFlags{Address: "0"}, Probes: ":8081",
			Controller: controller.Options{Name: "foobar-operator", Config: config, Watches: watches, Workers: 8, EventQPS: 50, Log: log}}
		return p.Run(ctx)
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Hour)
	defer stop()
	if err := run(ctx, nil); err != nil {
		fmt.Println(err)
	}
}
