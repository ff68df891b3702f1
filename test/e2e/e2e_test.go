//go:build linux

package e2e

import "testing"

// TestRealNode: one node. Tests run in parallel, except those that change the operator or the node, and the two versions of
// MPIJob run one after the other.
func TestRealNode(t *testing.T) {
	s := begin(t)
	t.Run("upgraded from the commit before", func(t *testing.T) { upgraded(t, s) })
	if err := s.node.Imported(); err != nil {
		t.Fatal(err)
	}
	group(t, s, "as installed", map[string]func(*testing.T, *system){
		"DDP over gloo":            dataParallel,
		"torchrun loses a pod":     elastic,
		"exit codes":               exitCodes,
		"out of memory":            outOfMemory,
		"malformed beside healthy": malformed,
		"names":                    names,
	})
	group(t, s, "with MPIJobs of v1", map[string]func(*testing.T, *system){
		"over kubectl exec":   overExec,
		"that fail":           overExecFails,
		"reach no one else's": overExecOthers,
	})
	t.Run("killed operator", func(t *testing.T) { killedOperator(t, s) })
	t.Run("lost leader", func(t *testing.T) { lostLeader(t, s) })
	t.Run("drained node", func(t *testing.T) { drained(t, s) })
	t.Run("the chart takes over", func(t *testing.T) { byHelm(t, s) })
	s.serveV2beta1(t)
	group(t, s, "with MPIJobs of v2beta1", map[string]func(*testing.T, *system){"over ssh": overSSH})
}

// group runs tests in parallel.
func group(t *testing.T, s *system, name string, tests map[string]func(*testing.T, *system)) {
	t.Run(name, func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, s)
			})
		}
	})
}
