package integration

import (
	"fmt"
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

// one is the control plane that tests share which change nothing but objects in namespaces of their own. It has the shipped CRDs,
// and is started by the first test that asks for it.
var one struct {
	sync.Mutex
	cluster *cluster.Cluster
	rig     *rig
}

// shared returns the control plane that tests share.
func shared(t *testing.T) *rig {
	t.Helper()
	one.Lock()
	defer one.Unlock()
	if one.rig != nil {
		return one.rig.of(one.rig.kind)
	}
	options := rigOptions(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd"), filepath.Join(root, volcanoFixture), filepath.Join(root, pluginFixture)}})
	c, config, err := operator.StartCluster(options)
	if err != nil {
		t.Fatal(err)
	}
	one.cluster, one.rig = c, newRigOf(c, config)
	one.rig.permit(t)
	return one.rig.of(one.rig.kind)
}

// stopShared stops the control plane that tests share, at the end of all tests.
func stopShared() {
	if one.cluster == nil {
		return
	}
	if err := one.cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the control plane:", err)
	}
}
