package parts

import (
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"

	"stoic/localcluster/kubelet"
)

// runKwok plays the kubelets of the simulated nodes. Its flags come in two
// sets: the global ones (configuration files, log level) must be parsed before
// the command exists, because its defaults come from the configuration.
func runKwok() (int, error) {
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}

	ctx, _ := log.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		return 0, fmt.Errorf("read kwok's configuration: %w", err)
	}
	if err := kubelet.LearnTypes(ctx); err != nil {
		return 0, fmt.Errorf("prepare kwok: %w", err)
	}
	if err := kubelet.RegisterDeletions(); err != nil {
		return 0, fmt.Errorf("prepare kwok: %w", err)
	}
	command := cmd.NewCommand(ctx)
	// The other parts register a flag --version of another type for the whole
	// process; the command would stumble over it.
	command.Version = ""
	command.PersistentFlags().AddFlagSet(global)
	if err := command.ExecuteContext(ctx); err != nil {
		return 0, fmt.Errorf("run kwok: %w", err)
	}
	return 0, nil
}
