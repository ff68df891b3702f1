package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"stoic/cli/cluster"
	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

const root = "../.."

// ground is a control plane with the training operator, as its administrator sees it.
type ground struct {
	cluster *cluster.Cluster
	config  *rest.Config
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
	return &ground{cluster: c, config: config, client: client}
}

func (g *ground) kubectl(t *testing.T, words ...string) {
	t.Helper()
	if _, err := operator.Kubectl(t.Context(), g.cluster.Kubeconfig(), nil, words...); err != nil {
		t.Fatal(err)
	}
}

// start starts an operator for all namespaces, and waits until it is ready. It is stopped at the end of the test, if it still runs.
func (g *ground) start(t *testing.T, o operator.Options) *operator.Process {
	t.Helper()
	process := operator.Started(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := process.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return process
}

// training returns the options of the training operator for all namespaces.
func (g *ground) training(t *testing.T) operator.Options {
	t.Helper()
	return operator.Options{Command: operator.Stoic(operator.Built(t, root)), Kubeconfig: g.cluster.UserKubeconfig("operator")}
}

// canary is a healthy job after another in a namespace of their own. Nothing else may disturb them.
type canary struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
	took   []time.Duration
	err    error
}

// startCanary starts the jobs, until end.
func (g *ground) startCanary(t *testing.T) *canary {
	t.Helper()
	if _, err := operator.Kubectl(t.Context(), g.cluster.Kubeconfig(), nil, "get", "namespace", "canary"); err != nil {
		g.kubectl(t, "create", "namespace", "canary")
	}
	sc := scenario.Canary(scenario.Operators()[0])
	ctx, cancel := context.WithCancel(t.Context())
	recorder, err := history.Record(ctx, g.config, scenario.Resources([]scenario.Scenario{sc})...)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	c := &canary{cancel: cancel}
	began := time.Now().UnixNano()
	c.ended.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("canary-%d-%d", began, n)
			actor := scenario.Actor{Client: g.client, Namespace: "canary", Job: name}
			actor.Run = recorder.RunOf(sc.Subject(scenario.Places{Namespace: "canary"}, name))
			limited, stop := context.WithTimeout(ctx, time.Minute)
			took, err := sc.Time(limited, actor)
			stop()
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				c.err = err
				return
			}
			c.took = append(c.took, took)
		}
	})
	t.Cleanup(cancel)
	return c
}

// end stops the jobs, and returns how long each took. It fails the test if one did not run, or if there were too few.
func (c *canary) end(t *testing.T) []time.Duration {
	t.Helper()
	c.cancel()
	c.ended.Wait()
	if c.err != nil || len(c.took) < 2 {
		t.Errorf("a healthy job that nothing concerns, after %d others: %v", len(c.took), c.err)
	}
	return c.took
}

// deleteOptions returns the options with which kubectl deletes.
func deleteOptions() metav1.DeleteOptions {
	background := metav1.DeletePropagationBackground
	return metav1.DeleteOptions{PropagationPolicy: &background}
}
