package operator

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
)

// AdminConfig returns the configuration of an administrator's kubeconfig, without a rate limit: a throttled test measures the throttle.
func AdminConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Definitions returns a client for the CRDs of a control plane, at the server where they are created: the API server itself, unless
// custom resources have a separate server (docs/storage.md). kubectl cannot use that server, as it does not serve the discovery of
// groups.
func Definitions(t test, c *cluster.Cluster) dynamic.ResourceInterface {
	t.Helper()
	config, err := AdminConfig(c.DefinitionsKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}
