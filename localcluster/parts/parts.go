package parts

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	definitions "k8s.io/apiextensions-apiserver/pkg/cmd/server"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	"k8s.io/component-base/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Names returns the parts that Run knows, in the order in which they start.
func Names() []string {
	return []string{"etcd", "kube-apiserver", "apiextensions-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
}

// Run becomes the named part and returns its exit code. The arguments are the
// part's own flags. Some parts read os.Args themselves, therefore the process
// should do nothing else.
func Run(name string, args []string) (int, error) {
	os.Args = append([]string{name}, args...)
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
		return 0, nil
	case "kube-apiserver":
		return run(apiserver.NewAPIServerCommand(), args), nil
	case "apiextensions-apiserver":
		return run(definitions.NewServerCommand(server.SetupSignalContext(), os.Stdout, os.Stderr), args), nil
	case "kube-controller-manager":
		return run(controllermanager.NewControllerManagerCommand(), args), nil
	case "kube-scheduler":
		return run(scheduler.NewSchedulerCommand(), args), nil
	case "kwok":
		return runKwok()
	}
	return 0, fmt.Errorf("run the part %q: no such part (there are %v)", name, Names())
}

func run(command *cobra.Command, args []string) int {
	command.SetArgs(args)
	return cli.Run(command)
}

// KubernetesVersion is the release that this binary serves, as stamped at
// build time.
func KubernetesVersion() string { return version.Get().GitVersion }
