//go:build linux

package e2e

import (
	"fmt"
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

// run is a launcher: the lines of its log that begin with a word say what ran where.
type run struct {
	name, image, manifest, word string
	want                        []string
}

// runAll runs MPIJobs, each in a namespace of its own, whose name is pi.
func (s *system) runAll(t *testing.T, launcher string, runs []run) {
	for _, r := range runs {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s.needs(t, r.image)
			ns := s.namespace(t, r.name)
			s.kubectl(t, r.manifest, "apply", "--namespace="+ns, "-f", "-")
			s.succeeds(t, ns, "mpijob/pi")
			if diff := cmp.Diff(r.want, s.lines(t, ns, launcher, r.word)); diff != "" {
				t.Errorf("what ran where (-want +got):\n%s", diff)
			}
			s.kubectl(t, "", "wait", "--for=delete", "--timeout=2m", "--namespace="+ns, "pod/pi-worker-0", "pod/pi-worker-1")
		})
	}
}

// overExec: the launcher starts processes by kubectl exec, with the permissions of the job's Role. Open MPI 5 reads other variables than
// Open MPI 4: without them it runs on the launcher alone and succeeds. MPICH reads no hostfile.
func overExec(t *testing.T, s *system) {
	both := []string{"pi-worker-0", "pi-worker-1"}
	s.runAll(t, "pi-launcher", []run{
		{"exec-openmpi", supplies.MPI, execJob("pi", supplies.MPI, mpirun("python3", "-c", ring)), "rank", ran(both...)},
		{"exec-hostname", supplies.MPI, execJob("pi", supplies.MPI, mpirun("hostname")), "pi-worker-", both},
		{"exec-openmpi5", supplies.MPI5, execJob("pi", supplies.MPI5, mpirun("python3", "-c", ring)), "rank", ran(both...)},
		{"exec-mpich", supplies.MPI, execJob("pi", supplies.MPI, `[mpirun.mpich, -n, "2", -hosts, "pi-worker-0,pi-worker-1", hostname]`), "pi-worker-", both},
	})
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

// overSSH: the launcher starts processes over ssh with the key that the operator has created. It is created at once, so it may exist
// before its hosts do, unless it waits for them. Open MPI 5 without its variable computes alone, and nothing reports it. With MPICH
// neither ssh nor sshd runs as root. A launcher that works is the first host.
func overSSH(t *testing.T, s *system) {
	both := []string{"pi-worker-0", "pi-worker-1"}
	alone := quoted([]string{"bash", "-ec", `export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -np 2 python3 -c "$0"
echo "rank alone on $(env -u PRTE_MCA_prte_default_hostfile mpirun -np 1 hostname)"`, ring})
	mpich := sshJob("pi", supplies.MPI, "  mpiImplementation: MPICH\n  sshAuthMountPath: /home/mpiuser/.ssh\n  launcherCreationPolicy: WaitForWorkersReady",
		`[mpirun.mpich, -n, "2", hostname]
              securityContext: {runAsUser: 1000}`, `              command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]
              securityContext: {runAsUser: 1000}
              readinessProbe: {tcpSocket: {port: 2222}, periodSeconds: 1}`)
	three := quoted([]string{"mpirun", "--allow-run-as-root", "-np", "3", "python3", "-c", ring})
	s.runAll(t, "job/pi-launcher", []run{
		{"ssh-openmpi", supplies.MPI, sshJob("pi", supplies.MPI, "", mpirun("python3", "-c", ring), ""), "rank", ran(both...)},
		{"ssh-openmpi5", supplies.MPI5, sshJob("pi", supplies.MPI5, "", alone, ""), "rank", append(ran(both...), "rank alone on pi-launcher")},
		{"ssh-mpich", supplies.MPI, mpich, "pi-worker-", both},
		{"ssh-launcher-works", supplies.MPI, sshJob("pi", supplies.MPI, "  runLauncherAsWorker: true", three, ""), "rank",
			ran("pi-launcher", "pi-worker-0", "pi-worker-1")},
	})
}
