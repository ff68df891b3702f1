package manager

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"stoic/cli/command"
	"stoic/controller/program"
	"stoic/training/operator"
	"stoic/training/versions"
)

// webhookFlags are the flags of a process that only converts objects.
type webhookFlags struct {
	conversion program.ConversionFlags
	metrics    program.MetricsFlags
	probes     string
	log        program.LogFlags
}

// NewWebhook returns the command that only converts objects.
func NewWebhook() *cobra.Command {
	var f webhookFlags
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Convert jobs between the versions of their kinds, for API servers",
		Long: `Answer API servers that want a job in another version than it is stored in, until interrupted: the webhook that the
CRDs of several versions name. It reads and writes no object, and needs no permission. The controller command does the
same besides its work, with --conversion-bind-address.

Environment: GOMEMLIMIT (instead of nine tenths of the container's memory limit).`,
		Example: `  stoic webhook --conversion-cert-path /etc/conversion`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.register(cmd.Flags())
	command.CompleteLog(cmd)
	return cmd
}

func (f *webhookFlags) register(flags *pflag.FlagSet) {
	f.conversion.Register(flags, ":9443")
	flags.StringVar(&f.metrics.Address, "metrics-bind-address", ":8080", `where /metrics is served; "0" for nowhere`)
	flags.StringVar(&f.probes, "health-probe-bind-address", ":8081", `where /healthz and /readyz are served; "0" for nowhere`)
	f.log.Register(flags)
}

func (f *webhookFlags) check() error {
	switch {
	case f.probes == "":
		return command.UsageError(errors.New(`--health-probe-bind-address: found "", must be an address such as ":8081", or "0" for nowhere`))
	case f.conversion.Address == "0":
		return command.UsageError(fmt.Errorf("--conversion-bind-address: found %q, must be an address such as \":9443\"", f.conversion.Address))
	}
	return errors.Join(f.conversion.Check(), f.metrics.Check())
}

func (f *webhookFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.log.Logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	program.KeepWithinMemory(log)
	return program.Conversion{Name: operator.Name, Kinds: versions.Kinds(), Flags: f.conversion, Metrics: f.metrics, Probes: f.probes,
		Registry: program.NewRegistry(), Version: command.Version, Log: log, LogFlags: &f.log}.Run(cmd.Context())
}
