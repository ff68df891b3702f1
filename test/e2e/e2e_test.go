//go:build linux

package e2e

import (
	"testing"
)

// TestRealNode: one node, on which the tests run one after the other, or side by side where they are of one version of MPIJob.
func TestRealNode(t *testing.T) {
	s := begin(t)
	group(t, s, "as installed", map[string]func(*testing.T, *system){
		"names":                         names,
		"MPIJob v1 over kubectl exec":   overExec,
		"MPIJob v1 with Open MPI 5":     overExecPRRTE,
		"MPIJob v1 with MPICH":          overExecHydra,
		"MPIJob v1 that fails":          overExecFails,
		"MPIJob v1 reaches no one else": overExecOthers,
	})
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
