package manager

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"stoic/cli/command"
	"stoic/controller/election"
	"stoic/controller/program"
	"stoic/training"
	"stoic/training/kinds"
)

// controllerFlags are the flags of the operator that this one replaces, under the same names. Defaults differ where those of that
// operator were too small to use (docs/compatibility.md).
type controllerFlags struct {
	kubeconfig            string
	metrics               program.MetricsFlags
	conversion            program.ConversionFlags
	probes                string
	profiling             bool
	namespace             string
	kinds                 []string
	threads               int
	qps, eventQPS         float32
	burst                 int
	leaderElect           bool
	leaseName, leaseSpace string
	gangScheduler         string
	nativeGang            bool
	kubectlImage          string
	addedUser             int64
	wait                  waitFlags
	log                   program.LogFlags
}

// NewController returns the command that runs the operator.
func NewController() *cobra.Command {
	var f controllerFlags
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the operator",
		Long: `Run the operator until it is interrupted. In a cluster it uses the service account of its pod; elsewhere give
--kubeconfig or set KUBECONFIG.

Environment: KUBEFLOW_NAMESPACE (instead of --namespace), MY_POD_NAMESPACE (instead of
--leader-election-namespace), MY_POD_NAME (who holds the lease), CUSTOM_CLUSTER_DOMAIN (appended to the host names in
TF_CONFIG and in the hostfile of MPIJobs of v2beta1, and the search domain of their pods instead of cluster.local),
GOMEMLIMIT (instead of nine tenths of the container's memory limit), GOGC (instead of 100, or 50 where more than 32 MiB
are in use).`,
		Example: `  # In a pod
  stoic controller --leader-elect

  # On a workstation, for one namespace
  stoic controller --kubeconfig ~/.kube/config --namespace team-a`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd.Flags())
	command.CompleteLog(cmd)
	command.CompleteFlags(cmd, map[string]cobra.CompletionFunc{"enable-scheme": CompleteKinds, "namespace": cobra.NoFileCompletions})
	return cmd
}

func (f *controllerFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "file that says how to reach the API server (default: $KUBECONFIG, else the pod's service account)")
	f.metrics.Register(flags)
	f.conversion.Register(flags, "0")
	flags.StringVar(&f.probes, "health-probe-bind-address", ":8081", `where /healthz and /readyz are served; "0" for nowhere`)
	flags.BoolVar(&f.profiling, "profiling", false, "serve profiles for go tool pprof with the metrics, at /debug/pprof/")
	flags.StringVar(&f.namespace, "namespace", "", "serve this namespace only (default: $KUBEFLOW_NAMESPACE, else all)")
	flags.StringSliceVar(&f.kinds, "enable-scheme", nil, "serve this kind only; may be repeated (default: all)")
	flags.IntVar(&f.threads, "controller-threads", 8, "jobs of one kind that are worked on at the same time")
	flags.Float32Var(&f.qps, "kube-api-qps", 200, "requests per second to the API server; -1 for no limit")
	flags.IntVar(&f.burst, "kube-api-burst", 400, "requests to the API server at once")
	flags.Float32Var(&f.eventQPS, "event-qps", DefaultEventQPS, "events per second to the API server, in addition to other requests; -1 for no limit")
	flags.BoolVar(&f.leaderElect, "leader-elect", false, "let one of several processes work, chosen by a lease")
	flags.StringVar(&f.leaseName, "leader-election-id", "1ca428e5.training-operator.kubeflow.org", "name of the lease")
	flags.StringVar(&f.leaseSpace, "leader-election-namespace", "", `namespace of the lease (default: $MY_POD_NAMESPACE, else "kubeflow")`)
	flags.StringVar(&f.gangScheduler, "gang-scheduler-name", "", `scheduler that places the pods of a job together: "volcano", or the name of one with the coscheduling plugin (default: none)`)
	flags.BoolVar(&f.nativeGang, "native-gang-scheduling", false, "let kube-scheduler place the pods of a job together, by Workload and PodGroup of scheduling.k8s.io; instead of --gang-scheduler-name")
	flags.StringVar(&f.kubectlImage, "mpi-kubectl-delivery-image", training.KubectlImage, "image of the init container that brings kubectl to the launcher of an MPIJob")
	flags.Int64Var(&f.addedUser, "added-container-user", training.DefaultAddedUser, "user ID of init containers that the operator adds to pods that must not run as root and name no user; -1 if the cluster assigns users, as OpenShift does")
	f.wait.register(flags)
	f.log.Register(flags)
	for _, name := range meaningless() {
		flags.String(name, "", "accepted, without effect")
		_ = flags.MarkHidden(name) // it was defined in the line above
	}
}

// DefaultEventQPS reports a burst of 10,000 rejected jobs, with all their problems, in 20 minutes. A higher rate would burden small API
// servers, where every event is a write.
const DefaultEventQPS = 50

// meaningless returns flags of the replaced operator that have no effect here, as there is no admission webhook.
func meaningless() []string {
	return []string{"webhook-server-port", "webhook-service-name", "webhook-secret-name"}
}

func envOr(name, other string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return other
}

// fill sets what no flag sets from the environment. These values are not defaults of the flags, so that help reads the same everywhere.
func (f *controllerFlags) fill(flags *pflag.FlagSet) {
	if !flags.Changed("namespace") {
		f.namespace = os.Getenv("KUBEFLOW_NAMESPACE")
	}
	if f.leaseSpace == "" {
		f.leaseSpace = envOr("MY_POD_NAMESPACE", "kubeflow")
	}
}

// check returns what is wrong with the flags, before anything is started.
func (f *controllerFlags) check() error {
	if f.namespace != "" && len(validation.IsDNS1123Label(f.namespace)) > 0 {
		return command.UsageError(fmt.Errorf("--namespace: found %q, must be the name of one namespace, or be left out for all", f.namespace))
	}
	switch {
	case f.probes == "":
		return command.UsageError(errors.New(`--health-probe-bind-address: found "", must be an address such as ":8081", or "0" for nowhere`))
	case f.leaseName == "":
		return command.UsageError(errors.New(`--leader-election-id: found "", must be a name`))
	case f.threads < 1:
		return command.UsageError(fmt.Errorf("--controller-threads: found %d, must be at least 1", f.threads))
	case f.qps == 0 || f.qps != f.qps: // NaN is no rate
		return command.UsageError(fmt.Errorf("--kube-api-qps: found %v, must be positive, or -1 for no limit", f.qps))
	case f.burst < 1:
		return command.UsageError(fmt.Errorf("--kube-api-burst: found %d, must be at least 1", f.burst))
	case f.eventQPS == 0 || f.eventQPS != f.eventQPS:
		return command.UsageError(fmt.Errorf("--event-qps: found %v, must be positive, or -1 for no limit", f.eventQPS))
	case f.gangScheduler != "" && len(validation.IsDNS1123Subdomain(strings.ToLower(f.gangScheduler))) > 0:
		return command.UsageError(fmt.Errorf("--gang-scheduler-name: found %q, must be the name of a scheduler, or be left out for none", f.gangScheduler))
	case f.addedUser == 0 || f.addedUser < -1 || f.addedUser > math.MaxInt32:
		return command.UsageError(fmt.Errorf("--added-container-user: found %d, must be from 1 to %d, or -1 for none", f.addedUser, math.MaxInt32))
	case f.gangScheduler != "" && f.nativeGang:
		return command.UsageError(errors.New("--native-gang-scheduling: found beside --gang-scheduler-name, must be one of the two"))
	}
	return errors.Join(f.conversion.Check(), f.metrics.Check())
}

// served returns the kinds that --enable-scheme names.
func (f *controllerFlags) served() ([]*training.Kind, error) {
	surroundings, err := f.wait.cluster()
	if err != nil {
		return nil, err
	}
	surroundings.Gang = training.Gang{Scheduler: f.gangScheduler, Native: f.nativeGang}
	surroundings.KubectlImage = f.kubectlImage
	surroundings.AddedUser = f.addedUser
	all := kinds.Served()
	for i := range all {
		all[i] = all[i].In(surroundings)
	}
	return Named("--enable-scheme", f.kinds, all)
}

// Named returns the kinds with these names, in all their versions; without a name, all kinds. The flag is named in the error.
func Named(flag string, names []string, all []*training.Kind) ([]*training.Kind, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, k := range all {
		if !slices.Contains(known, k.Name) {
			known = append(known, k.Name)
		}
	}
	var picked []*training.Kind
	for _, name := range names {
		found := false
		for _, k := range all {
			if !strings.EqualFold(k.Name, strings.TrimSpace(name)) {
				continue
			}
			found = true
			if !slices.Contains(picked, k) {
				picked = append(picked, k)
			}
		}
		if !found {
			return nil, command.UsageError(fmt.Errorf("%s: found %q, must be one of %s", flag, name, strings.Join(known, ", ")))
		}
	}
	return picked, nil
}

func (f *controllerFlags) run(cmd *cobra.Command) error {
	f.fill(cmd.Flags())
	if err := f.check(); err != nil {
		return err
	}
	kinds, err := f.served()
	if err != nil {
		return err
	}
	log, err := f.log.Logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(meaningless(), flag.Name) || f.log.Ignores(flag.Name) {
			log.Warn("a flag without effect was given", zap.String("flag", "--"+flag.Name))
		}
	})
	program.KeepWithinMemory(log)
	config, err := f.config()
	if err != nil {
		return err
	}
	p := Process{Config: config, Kinds: kinds, Namespace: f.namespace, Threads: f.threads, EventQPS: f.eventQPS,
		Metrics: f.metrics, Conversion: f.conversion, Probes: f.probes, Profiling: f.profiling, Log: log, LogFlags: &f.log}
	if f.leaderElect {
		p.Election = &election.Lease{Namespace: f.leaseSpace, Name: f.leaseName}
	}
	return p.Run(cmd.Context())
}

func (f *controllerFlags) config() (*rest.Config, error) {
	config, err := program.Config(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = f.qps, f.burst
	return config, nil
}
