package convert

import (
	"strings"
	"testing"

	"stoic/schema"
	"stoic/test/untyped"
)

// soundMPI returns a small valid MPIJob that a test may change.
func soundMPI(t *testing.T) map[string]any {
	t.Helper()
	return untyped.Parse(t, []byte(`
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: pi, namespace: team-a}
spec:
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: launcher, image: mpi, command: [mpirun]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: worker, image: mpi}]}}
`)).Object
}

// mpiV2Beta1 returns an MPIJob of kubeflow.org/v2beta1 with all fields that only this version has.
var mpiV2Beta1 = []byte(`
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi, namespace: team-a, annotations: {scheduling.volcano.sh/queue-name: research}}
spec:
  slotsPerWorker: 4
  runLauncherAsWorker: true
  sshAuthMountPath: /home/mpi/.ssh
  launcherCreationPolicy: WaitForWorkersReady
  mpiImplementation: Intel
  runPolicy:
    cleanPodPolicy: Running
    managedBy: kubeflow.org/mpi-operator
    backoffLimit: 3
    activeDeadlineSeconds: 600
    schedulingPolicy: {minAvailable: 2, minResources: {cpu: 2}}
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {priorityClassName: high, containers: [{name: launcher, image: mpi, command: [mpirun], securityContext: {runAsUser: 1000}}]}}
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template: {spec: {hostNetwork: true, dnsConfig: {searches: [a.example]}, containers: [{name: worker, image: mpi}, {name: side, image: mpi}]}}
`)

// soundMPIV2Beta1 returns such an object.
func soundMPIV2Beta1(t *testing.T) map[string]any { return untyped.Parse(t, mpiV2Beta1).Object }

// TestFaultMPI covers faults that only an MPIJob can have; mpi.txtar has the others.
func TestFaultMPI(t *testing.T) {
	const worker = "spec.mpiReplicaSpecs.Worker"
	const inArgs = "spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].args"
	const minimum = `metadata.annotations["training.kubeflow.org/launcher-min-workers"]`
	discovering := func(processes string) []any {
		return []any{"--min-np", processes, "--host-discovery-script", "/etc/mpi/discover_hosts.sh"}
	}
	holdIn(t, soundMPI, []fault{
		{"no workers", change{worker + ".replicas": int64(0)}, run},
		{"more workers than a ConfigMap can name", change{"metadata.name": strings.Repeat("x", 50), worker + ".replicas": int64(19999)}, reject(schema.TooLarge, worker+".replicas")},
		{"a launcher that discovers hosts", change{inArgs: discovering("2")}, run},
		{"as many processes as there are slots", change{inArgs: discovering("4"), "spec.slotsPerWorker": int64(2)}, run},
		{"more processes than slots", change{inArgs: discovering("5"), "spec.slotsPerWorker": int64(2)}, warn(schema.Conflict, inArgs)},
		{"more processes than a number", change{inArgs: discovering("99999999999999999999")}, warn(schema.Conflict, inArgs)},
		{"more processes of a static launcher", change{inArgs: []any{"-np", "5"}}, run},
		{"a minimum of workers", change{minimum: "2"}, run},
		{"a minimum of no workers", change{minimum: "0"}, warn(schema.InvalidValue, minimum)},
		{"a minimum above all workers", change{minimum: "3"}, warn(schema.InvalidValue, minimum)},
		{"a minimum where there are no workers", change{minimum: "1", worker + ".replicas": int64(0)}, warn(schema.InvalidValue, minimum)},
		{"a minimum in words", change{minimum: "all"}, warn(schema.InvalidValue, minimum)},
		{"a minimum beyond a number", change{minimum: "99999999999999999999"}, warn(schema.InvalidValue, minimum)},
	})
}

// TestFaultMPINames: jobs without services may have any name that pods and labels can have, as training-operator 1.9.4 ran
// them. A job of v2beta1 has a service of its name, and the names of its replicas are hostnames.
func TestFaultMPINames(t *testing.T) {
	faults := func(want string, names ...string) []fault {
		var all []fault
		for _, name := range names {
			all = append(all, fault{"name " + name, change{"metadata.name": name}, want})
		}
		return all
	}
	invalid := reject(schema.InvalidName, "metadata.name")
	holdIn(t, soundMPI, faults(run, "3d-unet", "my.job", "1", "0.1", "a-1.b--c", named(55), named(63), named(30)+"."+named(32)))
	holdIn(t, soundMPI, faults(invalid, "3D", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a_b", "a/b", "a b", "é", named(64), named(32)+"."+named(31), named(254)))
	holdIn(t, soundMPIV2Beta1, faults(run, "a", "a1", named(54)))
	holdIn(t, soundMPIV2Beta1, faults(invalid, "3d-unet", "my.job", named(55), named(63), "a_b"))
	eleven := change{"metadata.name": named(54), "spec.mpiReplicaSpecs.Worker.replicas": int64(11)}
	holdIn(t, soundMPIV2Beta1, []fault{{"the eleventh worker", eleven, invalid}})
}

// TestFaultSSHAuthMountPath: the keys may not hide what a container needs to start.
func TestFaultSSHAuthMountPath(t *testing.T) {
	const path = "spec.sshAuthMountPath"
	var faults []fault
	for _, at := range []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin",
		"/usr/bin/", "/proc/1/ssh", "/sys/ssh", "/root/../.", "usr/bin", "/etc/mpi", "/etc//mpi/", "etc/mpi", "/a:b"} {
		faults = append(faults, fault{at, change{path: at}, reject(schema.InvalidValue, path)})
	}
	for _, at := range []string{"", "/root", "/home", "/opt/ssh", "/etc/ssh", "/etc/mpi/ssh", "/usr/local", "/dev/shm", "/var/run/ssh", "/processes", "/.ssh", "ssh"} {
		faults = append(faults, fault{at, change{path: at}, run})
	}
	holdIn(t, soundMPIV2Beta1, faults)
}

// TestMPIMinimum: the annotation is in the normal form, and so is the minimum that follows from it or from the arguments.
func TestMPIMinimum(t *testing.T) {
	const minimum = `metadata.annotations["training.kubeflow.org/launcher-min-workers"]`
	for name, c := range map[string]struct {
		put  change
		want int
	}{
		"static":               {change{}, 0},
		"annotated":            {change{minimum: "1"}, 1},
		"annotated, but wrong": {change{minimum: "x"}, 0},
		"from the arguments":   {change{"spec.mpiReplicaSpecs.Launcher.template.spec.containers[0].args": []any{"--host-discovery-script=/d.sh", "--min-np=1"}}, 1},
	} {
		raw := soundMPI(t)
		apply(t, raw, c.put)
		if got := check(t, raw).Job.ReplicaType("Worker").Minimum; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
