package integration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// quick marks a test that make test runs, full one that make check runs (operator.Quick).
func quick(t *testing.T) { t.Helper(); operator.Quick(t) }

func full(t *testing.T) { t.Helper(); operator.Full(t) }

func isFull() bool { return operator.IsFull() }

// plane is a control plane that tests share which change nothing but objects in namespaces of their own. It has the shipped CRDs, and is
// started by the first test that asks for it.
type plane struct {
	sync.Mutex
	cluster *cluster.Cluster
	rig     *rig
}

// On one of them each test starts the operators of its namespaces. On the other one operator serves all namespaces.
var plain, operated plane

// shared returns the control plane on which tests start operators for their namespaces.
func shared(t *testing.T) *rig {
	t.Helper()
	return plain.started(t, false)
}

// withOperator returns the control plane on which one operator serves all namespaces.
func withOperator(t *testing.T) *rig {
	t.Helper()
	return operated.started(t, true)
}

func (p *plane) started(t *testing.T, isServed bool) *rig {
	t.Helper()
	p.Lock()
	defer p.Unlock()
	if p.rig != nil {
		return p.rig.of(p.rig.kind)
	}
	options := rigOptions(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd"), filepath.Join(root, volcanoFixture), filepath.Join(root, pluginFixture)}})
	options.Progress = os.Stderr // it is stopped after the test
	c, config, err := operator.StartCluster(options)
	if err != nil {
		t.Fatal(err)
	}
	p.cluster = c
	r := newRigOf(c, config)
	r.permit(t)
	if isServed {
		o := r.operatorOptions(t, "", "--kube-api-qps=-1", "--event-qps=-1")
		o.Log = filepath.Join(programs.Dir, "operator.log")
		common, err := operator.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		r.common = &process{common}
		if err := common.AwaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.rig = r
	return r.of(r.kind)
}

// stop stops the control plane, at the end of all tests. The operator must not have ended before.
func (p *plane) stop() (err error) {
	if p.rig != nil && p.rig.common != nil {
		err = p.rig.common.Stop(context.Background())
	}
	if p.cluster != nil {
		err = errors.Join(err, p.cluster.Stop())
	}
	return err
}
