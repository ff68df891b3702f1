package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"stoic/cli/cluster"
	"stoic/test/faults/oracle"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

const root = "../.."

// ground is a control plane with the training operator, as its administrator sees it.
type ground struct {
	cluster *cluster.Cluster
	client  dynamic.Interface
}

// newGround starts a control plane with some CRDs and the operator's permissions.
func newGround(t *testing.T, o cluster.Options, crds ...string) *ground {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs a control plane: left out with -short")
	}
	o.Source = filepath.Join(root, "localcluster")
	for _, file := range crds {
		o.CRDs = append(o.CRDs, filepath.Join(root, file))
	}
	c, config := operator.Cluster(t, o)
	if err := operator.Permit(t.Context(), c.Kubeconfig(), root); err != nil {
		t.Fatal(err)
	}
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &ground{cluster: c, client: client}
}

func (g *ground) kubectl(t *testing.T, words ...string) {
	t.Helper()
	if _, err := operator.Kubectl(t.Context(), g.cluster.Kubeconfig(), nil, words...); err != nil {
		t.Fatal(err)
	}
}

// training returns the options of the training operator for all namespaces.
func (g *ground) training(t *testing.T) operator.Options {
	t.Helper()
	return operator.Options{Command: operator.Stoic(operator.Built(t, root)), Kubeconfig: g.cluster.UserKubeconfig("operator")}
}

// canary is one healthy TFJob after another in a namespace of their own. Nothing else may disturb them.
type canary struct {
	isStopped atomic.Bool
	ended     sync.WaitGroup
	took      []time.Duration
	err       error
}

// startCanary starts the jobs, three at least, until end. A job that has not succeeded after two minutes is an error.
func (g *ground) startCanary(t *testing.T) *canary {
	t.Helper()
	all := kinds.All()
	i := slices.IndexFunc(all, func(k *training.Kind) bool { return k.Name == "TFJob" })
	jobs := operator.Jobs{Client: g.client, Kind: all[i]}
	namespace := fmt.Sprintf("canary-%d", time.Now().UnixNano())
	g.kubectl(t, "create", "namespace", namespace)
	c := &canary{}
	c.ended.Go(func() {
		for n := 0; c.err == nil && (n < 3 || !c.isStopped.Load()); n++ {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			took, err := jobs.Canary(ctx, namespace, fmt.Sprint("canary-", n))
			cancel()
			c.took = append(c.took, took)
			c.err = err
		}
	})
	return c
}

// end stops the jobs after the one that runs, and returns the median of how long they took. It fails the test if one did not succeed.
func (c *canary) end(t *testing.T) time.Duration {
	t.Helper()
	c.isStopped.Store(true)
	c.ended.Wait()
	if c.err != nil {
		t.Errorf("a healthy job that nothing concerns, after %d others: %v", len(c.took), c.err)
	}
	return oracle.Quantile(c.took, 0.5)
}
