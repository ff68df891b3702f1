//go:build linux

package e2e

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/test/e2e/supplies"
)

// names: replicas find each other by the names of their services, which a real DNS server resolves. When each knows both
// addresses, worker 1 listens at the port of the service, and worker 0 connects to it there; its end is that of the job.
func names(t *testing.T, s *system) {
	ns := s.namespace(t, "names")
	s.kubectl(t, fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: find}
spec:
  runPolicy: {cleanPodPolicy: None}
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: tensorflow
              image: %s
              command:
                - bash
                - -c
                - |
                  for name in find-worker-0 find-worker-1.%s.svc.cluster.local; do
                    until address=$(getent ahostsv4 $name); do sleep 1; done
                    echo "found $name"
                    test "${address%%%% *}" = "$(hostname -i)" && echo "found myself as $name"
                  done
                  if test "$(hostname)" = find-worker-1; then exec python3 -m http.server 2222; fi
                  until (exec 3<>/dev/tcp/find-worker-1/2222); do sleep 1; done
`, supplies.MPI, ns), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "tfjob/find")
	for worker, name := range []string{"find-worker-0", "find-worker-1." + ns + ".svc.cluster.local"} {
		want := []string{"found find-worker-0", "found find-worker-1." + ns + ".svc.cluster.local", "found myself as " + name}
		if diff := cmp.Diff(want, s.lines(t, ns, fmt.Sprintf("find-worker-%d", worker), "found")); diff != "" {
			t.Errorf("what worker %d found (-want +got):\n%s", worker, diff)
		}
	}
}
