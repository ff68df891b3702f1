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

// tierVariable selects what runs: make test leaves it empty and runs the tests that call quick; make check sets it to "1" and runs
// those that call full, and no others; "all" is for other releases and stores, once in a night. So no test runs in both.
const tierVariable = "STOIC_FULL"

// quick marks a test that make test runs. Every test calls quick or full first.
func quick(t *testing.T) {
	t.Helper()
	if os.Getenv(tierVariable) == "1" {
		t.Skip("make test runs it; " + tierVariable + "=1 selects the others")
	}
}

// full marks a test that make check runs.
func full(t *testing.T) {
	t.Helper()
	if !isFull() {
		t.Skip(tierVariable + "=1 runs it, as make check does")
	}
}

func isFull() bool { return os.Getenv(tierVariable) != "" }

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
	options := rigOptions(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd"), filepath.Join(root, volcanoFixture)}})
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
