package program

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns how to reach the API server: by this kubeconfig, else by those of KUBECONFIG, else by the service
// account of the pod. An error that the caller can correct is a UsageError.
func Config(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig, Precedence: filepath.SplitList(os.Getenv("KUBECONFIG"))}
	if rules.ExplicitPath == "" && len(rules.Precedence) == 0 {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, usage(errors.New("no API server: this is not a pod; give --kubeconfig or set KUBECONFIG"))
		}
		if err != nil {
			return nil, fmt.Errorf("read the service account of the pod: %w", err)
		}
		return config, nil
	}
	// Files of KUBECONFIG that do not exist are skipped, as kubectl does; one file must name a cluster.
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&rules, &clientcmd.ConfigOverrides{})
	raw, err := loader.RawConfig()
	if err == nil && len(raw.Clusters) == 0 {
		err = errors.New("it names no cluster")
	}
	var config *rest.Config
	if err == nil {
		config, err = loader.ClientConfig()
	}
	if err != nil {
		return nil, usage(fmt.Errorf("read the kubeconfig %s: %w", cmp.Or(kubeconfig, os.Getenv("KUBECONFIG")), err))
	}
	return config, nil
}
