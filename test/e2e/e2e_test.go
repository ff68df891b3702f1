//go:build linux

package e2e

import (
	"testing"
)

// TestRealNode: one node. Tests run side by side, but for those that change the operator or the node, and one version of MPIJob comes
// after the other.
func TestRealNode(t *testing.T) {
	s := begin(t)
	t.Run("upgraded from the commit before", func(t *testing.T) { upgraded(t, s) })
	group(t, s, "as installed", map[string]func(*testing.T, *system){
		"DDP over gloo":                 dataParallel,
		"torchrun loses a pod":          elastic,
		"exit codes":                    exitCodes,
		"out of memory":                 outOfMemory,
		"malformed beside healthy":      malformed,
		"names":                         names,
		"MPIJob v1 over kubectl exec":   overExec,
		"MPIJob v1 with Open MPI 5":     overExecPRRTE,
		"MPIJob v1 with MPICH":          overExecHydra,
		"MPIJob v1 that fails":          overExecFails,
		"MPIJob v1 reaches no one else": overExecOthers,
	})
	t.Run("killed operator", func(t *testing.T) { killedOperator(t, s) })
	t.Run("lost leader", func(t *testing.T) { lostLeader(t, s) })
	t.Run("drained node", func(t *testing.T) { drained(t, s) })
	t.Run("the chart takes over", func(t *testing.T) { byHelm(t, s) })
	t.Run("the chart alone", func(t *testing.T) { freshByHelm(t, s) })
	s.serveV2beta1(t)
	group(t, s, "with MPIJobs of v2beta1", map[string]func(*testing.T, *system){
		"Open MPI over ssh":                overSSH,
		"Open MPI 5 over ssh":              overSSHPRRTE,
		"MPICH over ssh, as another user":  overSSHHydra,
		"the launcher is one of the hosts": overSSHLauncherWorks,
	})
}

// group runs tests side by side.
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
