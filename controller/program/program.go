package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/controller"
	"stoic/controller/election"
)

// Program is an operator: a name and watches.
type Program struct {
	// Name of the operator, such as foobar-operator. Events are reported under it, and it is the prefix of its metrics and the name of
	// its lease.
	Name    string
	Short   string // what it does, in one sentence, for --help
	Version string // "" is "dev"
	// Watches are what it serves. Several of them may be divided among processes: --resources says which ones a process serves, and each
	// process then has a lease of its own.
	Watches []controller.Watch
	// Collectors are metrics of the operator's own, which are served beside those of the engine. Watch.Count and Watch.Cached say what
	// they count.
	Collectors []prometheus.Collector
}

const (
	qps, burst = 200, 400 // requests to the API server
	eventQPS   = 50       // events, beside its other requests
	workers    = 8        // for each watch
)

// flags have the names that operators commonly use.
type flags struct {
	kubeconfig, namespace string
	resources             []string
	metrics               MetricsFlags
	conversion            ConversionFlags
	converts              bool // a watch has several versions
	conversionOnly        bool
	probes                string
	leaderElect           bool
	leaseName, leaseSpace string
	log                   LogFlags
}

func (f *flags) register(all *pflag.FlagSet, name string, watches []controller.Watch) {
	if len(watches) > 1 {
		all.StringSliceVar(&f.resources, "resources", nil, "serve only these of "+strings.Join(plurals(watches), ", ")+" (default: all)")
	}
	all.StringVar(&f.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: $KUBECONFIG, else the pod's service account)")
	all.StringVar(&f.namespace, "namespace", "", "serve the objects of this namespace only (default: all)")
	f.metrics.Register(all)
	if f.converts = len(converted(watches)) > 0; f.converts {
		f.conversion.Register(all, "0")
		all.BoolVar(&f.conversionOnly, "conversion-only", false, "do nothing but serve --conversion-bind-address: no object is read or written")
	}
	all.StringVar(&f.probes, "health-probe-bind-address", ":8081", `where /healthz and /readyz are served; "0" for nowhere`)
	all.BoolVar(&f.leaderElect, "leader-elect", false, "let one of several processes work, chosen by a lease")
	all.StringVar(&f.leaseName, "leader-election-id", "", leaseUsage(name, watches))
	all.StringVar(&f.leaseSpace, "leader-election-namespace", "", "namespace of the lease (default: $MY_POD_NAMESPACE)")
	f.log.Register(all)
}

func (f *flags) check() error {
	f.leaseSpace = cmp.Or(f.leaseSpace, os.Getenv("MY_POD_NAMESPACE"))
	switch {
	case f.namespace != "" && len(validation.IsDNS1123Label(f.namespace)) > 0:
		return usage(fmt.Errorf("--namespace: found %q, must be the name of one namespace, or be left out for all", f.namespace))
	case f.probes == "":
		return usage(errors.New(`--health-probe-bind-address: found "", must be an address such as ":8081", or "0" for nowhere`))
	case f.leaderElect && len(validation.IsDNS1123Subdomain(f.leaseName)) > 0:
		return usage(fmt.Errorf("--leader-election-id: found %q, must be the name of a lease", f.leaseName))
	case f.leaderElect && len(validation.IsDNS1123Label(f.leaseSpace)) > 0:
		return usage(fmt.Errorf("--leader-election-namespace: found %q, must be the namespace of the lease; a pod has it in MY_POD_NAMESPACE", f.leaseSpace))
	case f.conversionOnly && f.metrics.Secure:
		return usage(errors.New("--metrics-secure: found with --conversion-only, must be left out: it asks an API server"))
	case f.conversionOnly && !f.conversion.on():
		return usage(errors.New("--conversion-only: found without --conversion-bind-address, must be given with it"))
	}
	if f.converts {
		if err := f.conversion.Check(); err != nil {
			return err
		}
	}
	return f.metrics.Check()
}

// Main runs the program until it is interrupted, and returns its exit code: 0 after a graceful stop, 2 for wrong usage, 1 for all other
// errors. args[0] is the name by which it was called.
func (p Program) Main(args []string, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately

	var f flags
	all := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	all.SetOutput(io.Discard)
	f.register(all, p.Name, p.Watches)
	err := all.Parse(args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(out, p.help(all))
		return 0
	case err != nil:
		err = usage(err)
	case all.NArg() > 0:
		err = usage(fmt.Errorf("found the argument %q, must have none", all.Arg(0)))
	default:
		err = p.run(ctx, f, errOut)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(errOut, "error: %s\n", strings.TrimSpace(err.Error()))
	var wrong *UsageError
	if errors.As(err, &wrong) {
		fmt.Fprintf(errOut, "See '%s --help'.\n", p.Name)
		return 2
	}
	return 1
}

func (p Program) help(all *pflag.FlagSet) string {
	return fmt.Sprintf(`%s

Runs until it is interrupted. In a cluster it uses the service account of its pod; elsewhere give --kubeconfig or set
KUBECONFIG.

Usage:
  %s [flags]

Flags:
%s
Environment: KUBECONFIG, MY_POD_NAMESPACE (instead of --leader-election-namespace), MY_POD_NAME (who holds the lease),
GOMEMLIMIT (instead of nine tenths of the container's memory limit), GOGC (instead of 100, or 50 where more than 32 MiB
are in use).
`, p.Short, p.Name, all.FlagUsages())
}

func (p Program) run(ctx context.Context, f flags, errOut io.Writer) error {
	watches, err := f.choose(p.Name, p.Watches)
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.log.Logger(errOut)
	if err != nil {
		return err
	}
	if f.conversionOnly {
		KeepWithinMemory(log)
		return Conversion{Name: p.Name, Kinds: converted(p.Watches), Flags: f.conversion, Metrics: f.metrics, Probes: f.probes, Registry: NewRegistry(),
			Version: cmp.Or(p.Version, "dev"), Log: log, LogFlags: &f.log}.Run(ctx)
	}
	config, err := Config(f.kubeconfig)
	if err != nil {
		return err
	}
	KeepWithinMemory(log)
	config.QPS, config.Burst = qps, burst
	registry := NewRegistry()
	for _, c := range p.Collectors {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("register the operator's own metrics: %w", err)
		}
	}
	process := Process{Registry: registry, Version: cmp.Or(p.Version, "dev"), UserAgent: p.Name, Metrics: f.metrics, Conversion: f.conversion, Converts: converted(p.Watches), Probes: f.probes, Log: &f.log,
		Controller: controller.Options{Name: p.Name, Config: config, Watches: watches, Namespace: f.namespace, Workers: workers, EventQPS: eventQPS, Log: log}}
	if f.leaderElect {
		process.Controller.Lease = &election.Lease{Namespace: f.leaseSpace, Name: f.leaseName}
	}
	return process.Run(ctx)
}
