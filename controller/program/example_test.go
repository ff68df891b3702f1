package program_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

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

func ExampleLogFlags() {
	var f program.LogFlags
	all := pflag.NewFlagSet("foobar-operator", pflag.ContinueOnError)
	f.Register(all)
	fmt.Println(all.Parse([]string{"--zap-log-level", "debug"}), f.Level)
	// Output: <nil> debug
}

func ExampleMetricsFlags() {
	var f program.MetricsFlags
	all := pflag.NewFlagSet("foobar-operator", pflag.ContinueOnError)
	f.Register(all)
	fmt.Println(all.Parse([]string{"--metrics-bind-address", ""}), f.Check())
	// Output: <nil> --metrics-bind-address: found "", must be an address such as ":8080", or "0" for nowhere
}

func ExampleBuild() {
	fmt.Println(program.BuildOf("v1.2.3").Version)
	// Output: v1.2.3
}

func ExampleUsageError() {
	_, err := program.Config("/no/such/file")
	fmt.Printf("%T\n", err)
	// Output: *program.UsageError
}

func ExampleConversionFlags() {
	var f program.ConversionFlags
	all := pflag.NewFlagSet("foobar-operator", pflag.ContinueOnError)
	f.Register(all, "0")
	fmt.Println(f.Check(), all.Parse([]string{"--conversion-bind-address", ":9443"}))
	fmt.Println(f.Check())
	// Output:
	// <nil> <nil>
	// --conversion-cert-path: not found, must be given with --conversion-bind-address: API servers speak to a webhook over TLS alone
}
