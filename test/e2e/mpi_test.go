//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
	"stoic/test/e2e/supplies"
)

// ring is an MPI program: each process prints where it runs, and the sum of what all processes have sent.
const ring = `from mpi4py import MPI; c = MPI.COMM_WORLD; s = c.allreduce(c.rank + 1); ` +
	`print(f"rank {c.rank} of {c.size} on {MPI.Get_processor_name().split('.')[0]}: {s}", flush=True)`

// ran returns the output of the program when it runs on the hosts, in the order of ranks.
func ran(hosts ...string) []string {
	var lines []string
	for rank, host := range hosts {
		lines = append(lines, fmt.Sprintf("rank %d of %d on %s: %d", rank, len(hosts), host, len(hosts)*(len(hosts)+1)/2))
	}
	return lines
}

// needs skips a test whose image is not available on this machine.
func (s *system) needs(t *testing.T, image string) {
	t.Helper()
	for _, why := range s.supplies.Missing {
		if strings.HasPrefix(why, image+":") {
			t.Skip(why)
		}
	}
}

// execJob returns an MPIJob of v1: workers without a command sleep.
func execJob(name, image, command string) string {
	return fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: %s}
spec:
  runPolicy: {cleanPodPolicy: Running}
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: mpi
              image: %s
              command: %s
    Worker:
      replicas: 2
      template:
        spec:
          terminationGracePeriodSeconds: 1 # "sleep" takes no notice of a SIGTERM
          containers: [{name: mpi, image: %[2]q}]
`, name, image, command)
}

func mpirun(program ...string) string {
	return quoted(append([]string{"mpirun", "--allow-run-as-root", "-np", "2"}, program...))
}

// quoted returns a list in YAML.
func quoted(words []string) string { return string(schema.JSON(words)) }

// overExec: Open MPI 4 starts its processes by kubectl exec, with the rights of the job's Role.
func overExec(t *testing.T, s *system) {
	ns := s.namespace(t, "exec")
	s.kubectl(t, execJob("pi", supplies.MPI, mpirun("python3", "-c", ring)), "apply", "--namespace="+ns, "-f", "-")
	s.kubectl(t, execJob("hosts", supplies.MPI, mpirun("hostname")), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "mpijob/pi")
	if diff := cmp.Diff(ran("pi-worker-0", "pi-worker-1"), s.lines(t, ns, "pi-launcher", "rank")); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
	s.succeeds(t, ns, "mpijob/hosts")
	if diff := cmp.Diff([]string{"hosts-worker-0", "hosts-worker-1"}, s.lines(t, ns, "hosts-launcher", "hosts-worker-")); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
	s.gone(t, ns, "pod/pi-worker-0", "pod/pi-worker-1")
}

// gone waits until objects are deleted.
func (s *system) gone(t *testing.T, namespace string, objects ...string) {
	t.Helper()
	s.kubectl(t, "", append([]string{"wait", "--for=delete", "--timeout=2m", "--namespace=" + namespace}, objects...)...)
}

// overExecPRRTE: Open MPI 5 reads other variables. Without them it runs on the launcher alone and succeeds.
func overExecPRRTE(t *testing.T, s *system) {
	s.needs(t, supplies.MPI5)
	ns := s.namespace(t, "exec5")
	s.kubectl(t, execJob("pi", supplies.MPI5, mpirun("python3", "-c", ring)), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "mpijob/pi")
	if diff := cmp.Diff(ran("pi-worker-0", "pi-worker-1"), s.lines(t, ns, "pi-launcher", "rank")); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
}

// overExecHydra: MPICH reaches the workers by variables, too, but cannot read the hostfile.
func overExecHydra(t *testing.T, s *system) {
	ns := s.namespace(t, "exec-hydra")
	s.kubectl(t, execJob("pi", supplies.MPI, `[mpirun.mpich, -n, "2", -hosts, "pi-worker-0,pi-worker-1", hostname]`), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "mpijob/pi")
	if diff := cmp.Diff([]string{"pi-worker-0", "pi-worker-1"}, s.lines(t, ns, "pi-launcher", "pi-worker-")); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
}

// overExecFails: a failure on a worker fails the job, with the exit code that mpirun passes on.
func overExecFails(t *testing.T, s *system) {
	ns := s.namespace(t, "fails")
	command := mpirun("sh", "-c", `test $(hostname) != pi-worker-1 || exit 3`)
	s.kubectl(t, execJob("pi", supplies.MPI, command), "apply", "--namespace="+ns, "-f", "-")
	if end := s.ends(t, ns, "mpijob/pi"); !end.is("Failed") {
		t.Errorf("conditions %+v", end.Status.Conditions)
	}
	code := s.kubectl(t, "", "get", "pod", "pi-launcher", "--namespace="+ns, "--output=jsonpath={.status.containerStatuses[0].state.terminated.exitCode}")
	if code != "3" {
		t.Errorf("the launcher has exited with %q", code)
	}
}

// overExecOthers: with the token in its pod, a launcher can start processes in its own workers and in no other pod.
func overExecOthers(t *testing.T, s *system) {
	ns := s.namespace(t, "others")
	command := quoted([]string{"sh", "-c", `for pod in me-worker-0 me-worker-1 you-worker-0; do
  if said=$(/opt/kube/kubectl exec $pod -- true 2>&1); then echo "may $pod"; else echo "may not $pod: $said"; fi
done`})
	s.kubectl(t, execJob("you", supplies.MPI, `[sleep, 365d]`), "apply", "--namespace="+ns, "-f", "-")
	s.kubectl(t, "", "wait", "--for=condition=Running", "--timeout=5m", "--namespace="+ns, "mpijob/you")
	s.kubectl(t, execJob("me", supplies.MPI, command), "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "mpijob/me")
	got := s.lines(t, ns, "me-launcher", "may")
	if len(got) != 3 || got[0] != "may me-worker-0" || got[1] != "may me-worker-1" ||
		!strings.HasPrefix(got[2], "may not you-worker-0: ") || !strings.Contains(got[2], "forbidden") {
		t.Errorf("where the launcher may start processes: %q", got)
	}
	s.kubectl(t, "", "delete", "mpijob", "you", "--namespace="+ns)
}

// serveV2beta1 replaces the CRD of v1 by that of v2beta1, as in deploy/README.md.
func (s *system) serveV2beta1(t *testing.T) {
	t.Helper()
	s.kubectl(t, "", "delete", "crd", "mpijobs.kubeflow.org")
	s.kubectl(t, "", "apply", "-k", s.root+"/deploy/mpijob-v2beta1")
	s.await(t, "default", "MPIJobs of v2beta1 to be served", func() (bool, string) {
		is, err := s.try("", "get", "crd", "mpijobs.kubeflow.org", `--output=jsonpath={.status.conditions[?(@.type=="Established")].status}`)
		return err == nil && is == "True", fmt.Sprint(is, err) // an error: it has no status yet
	})
}

// sshJob returns an MPIJob of v2beta1: workers without a command run sshd.
func sshJob(name, image, more, command, worker string) string {
	return fmt.Sprintf(`apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: %s}
spec:
  runPolicy: {cleanPodPolicy: Running}
%s
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
            - name: launcher
              image: %s
              command: %s
    Worker:
      replicas: 2
      template:
        spec:
          containers:
            - name: worker
              image: %[3]s
%[5]s
`, name, more, image, command, worker)
}

// launched waits for the success of the job "pi" and returns the lines of its launcher's log that begin with a word.
func (s *system) launched(t *testing.T, ns, manifest, word string) []string {
	t.Helper()
	s.kubectl(t, manifest, "apply", "--namespace="+ns, "-f", "-")
	s.succeeds(t, ns, "mpijob/pi")
	return s.lines(t, ns, "job/pi-launcher", word)
}

// overSSH: Open MPI 4 starts its processes over ssh with the key that the operator has created. The launcher is created
// immediately, so it may exist before its hosts do.
func overSSH(t *testing.T, s *system) {
	ns := s.namespace(t, "ssh")
	got := s.launched(t, ns, sshJob("pi", supplies.MPI, "", mpirun("python3", "-c", ring), ""), "rank")
	if diff := cmp.Diff(ran("pi-worker-0", "pi-worker-1"), got); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
	s.gone(t, ns, "pod/pi-worker-0", "pod/pi-worker-1")
}

// overSSHPRRTE: see overExecPRRTE. Without its variable the same launcher computes alone, and nothing reports it.
func overSSHPRRTE(t *testing.T, s *system) {
	s.needs(t, supplies.MPI5)
	ns := s.namespace(t, "ssh5")
	command := quoted([]string{"bash", "-ec", `export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -np 2 python3 -c "$0"
echo "rank alone on $(env -u PRTE_MCA_prte_default_hostfile mpirun -np 1 hostname)"`, ring})
	got := s.launched(t, ns, sshJob("pi", supplies.MPI5, "", command, ""), "rank")
	if diff := cmp.Diff(append(ran("pi-worker-0", "pi-worker-1"), "rank alone on pi-launcher"), got); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
}

// overSSHHydra: MPICH, where neither ssh nor sshd runs as root. The launcher waits for its workers.
func overSSHHydra(t *testing.T, s *system) {
	ns := s.namespace(t, "hydra")
	manifest := sshJob("pi", supplies.MPI, "  mpiImplementation: MPICH\n  sshAuthMountPath: /home/mpiuser/.ssh\n  launcherCreationPolicy: WaitForWorkersReady",
		`[mpirun.mpich, -n, "2", hostname]
              securityContext: {runAsUser: 1000}`, `              command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]
              securityContext: {runAsUser: 1000}
              readinessProbe: {tcpSocket: {port: 2222}, periodSeconds: 1}`)
	if diff := cmp.Diff([]string{"pi-worker-0", "pi-worker-1"}, s.launched(t, ns, manifest, "pi-worker-")); diff != "" {
		t.Errorf("what ran where (-want +got):\n%s", diff)
	}
}

// overSSHLauncherWorks: the launcher is the first host, and runs a process, too.
func overSSHLauncherWorks(t *testing.T, s *system) {
	ns := s.namespace(t, "works")
	command := quoted([]string{"mpirun", "--allow-run-as-root", "-np", "3", "python3", "-c", ring})
	got := s.launched(t, ns, sshJob("pi", supplies.MPI, "  runLauncherAsWorker: true", command, ""), "rank")
	if want := ran("pi-launcher", "pi-worker-0", "pi-worker-1"); !slices.Equal(got, want) {
		t.Errorf("what ran where: %q, want %q", got, want)
	}
}
