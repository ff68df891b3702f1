package convert

import (
	"math"
	"strings"
	"testing"

	"stoic/schema"
	"stoic/test/untyped"
)

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

// TestFaultMPIV2Beta1 covers the faults that only an MPIJob of kubeflow.org/v2beta1 can have.
func TestFaultMPIV2Beta1(t *testing.T) {
	const specs = "spec.mpiReplicaSpecs"
	const launcher, worker = specs + ".Launcher", specs + ".Worker"
	const slots, works, path, creation, implementation = "spec.slotsPerWorker", "spec.runLauncherAsWorker", "spec.sshAuthMountPath",
		"spec.launcherCreationPolicy", "spec.mpiImplementation"
	plain := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "b"}}}}}
	sound := func(t *testing.T) map[string]any { return untyped.Parse(t, mpiV2Beta1).Object }
	faults := []fault{
		{"nothing", change{}, run},
		{"no slots", change{slots: int64(0)}, run},
		{"fewer slots than none", change{slots: int64(-1)}, reject(schema.OutOfRange, slots)},
		{"slots beyond a number", change{slots: int64(math.MaxInt64)}, reject(schema.OutOfRange, slots)},
		{"half a slot", change{slots: 0.5}, reject(schema.TypeMismatch, slots)},
		{"slots in quotes", change{slots: "2"}, reject(schema.TypeMismatch, slots)},
		{"a launcher that works in quotes", change{works: "true"}, reject(schema.TypeMismatch, works)},
		{"a path with a colon", change{path: "/a:b"}, reject(schema.InvalidValue, path)},
		{"a path that is a list", change{path: []any{"/a"}}, reject(schema.TypeMismatch, path)},
		{"the path of the hostfile", change{path: "/etc/mpi"}, reject(schema.InvalidValue, path)},
		{"the path of the hostfile, spelt otherwise", change{path: "/etc//mpi/"}, reject(schema.InvalidValue, path)},
		{"the path of the hostfile, without a slash", change{path: "etc/mpi"}, reject(schema.InvalidValue, path)},
		{"a path in that of the hostfile", change{path: "/etc/mpi/ssh"}, run},
		{"a path in /proc", change{path: "/proc/1/ssh"}, reject(schema.InvalidValue, path)},
		{"a path in /sys", change{path: "/sys/ssh"}, reject(schema.InvalidValue, path)},
		{"the root, spelt otherwise", change{path: "/root/../."}, reject(schema.InvalidValue, path)},
		{"programs, without a slash", change{path: "usr/bin"}, reject(schema.InvalidValue, path)},
		{"a policy in lower case", change{creation: "atStartup"}, reject(schema.InvalidValue, creation)},
		{"a policy that is a number", change{creation: int64(1)}, reject(schema.TypeMismatch, creation)},
		{"an implementation in lower case", change{implementation: "intel"}, reject(schema.InvalidValue, implementation)},
		{"an implementation that is an object", change{implementation: map[string]any{}}, reject(schema.TypeMismatch, implementation)},
		{"a manager of the other version", change{inPolicy + ".managedBy": "kubeflow.org/training-operator"}, reject(schema.InvalidValue, inPolicy+".managedBy")},
		{"no launcher", change{launcher: untyped.Missing{}}, reject(schema.MissingField, launcher)},
		{"a launcher that is null", change{launcher: nil}, reject(schema.TypeMismatch, launcher)},
		{"two launchers", change{launcher + ".replicas": int64(2)}, reject(schema.ReplicaCount, launcher+".replicas")},
		{"a launcher that is none", change{launcher + ".replicas": int64(0)}, reject(schema.ReplicaCount, launcher+".replicas")},
		{"a launcher alone", change{specs: map[string]any{"Launcher": plain}, inPolicy + ".schedulingPolicy": nil}, run},
		{"no workers", change{worker + ".replicas": int64(0)}, reject(schema.ReplicaCount, worker+".replicas")},
		{"workers without a number", change{worker + ".replicas": nil}, reject(schema.ReplicaCount, worker+".replicas")},
		{"workers of a nil map", change{worker: map[string]any(nil)}, also(reject(schema.ReplicaCount, worker+".replicas"), schema.MissingField, worker+".template")},
		{"fewer workers than none", change{worker + ".replicas": int64(-1)}, reject(schema.OutOfRange, worker+".replicas")},
		{"more workers than a ConfigMap can name", change{"metadata.name": strings.Repeat("x", 50), worker + ".replicas": int64(19999)},
			reject(schema.TooLarge, worker+".replicas")},
		{"another kind's replica type", change{specs + ".Master": plain}, reject(schema.UnknownReplicaType, specs+".Master")},
		{"no containers", change{worker + ".template.spec.containers": []any{}}, reject(schema.MissingContainer, worker+".template.spec.containers")},
		{"a field of the other version", change{"spec.mainContainer": "worker"}, warn(schema.UnknownField, "spec.mainContainer")},
	}
	for _, at := range []string{"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/sbin"} {
		faults = append(faults, fault{at, change{path: at}, reject(schema.InvalidValue, path)}, fault{at + "/", change{path: at + "/"}, reject(schema.InvalidValue, path)})
	}
	for _, at := range []string{"/root", "/home", "/opt/ssh", "/etc/ssh", "/usr/local", "/dev/shm", "/var/run/ssh", "/processes", "/.ssh", "ssh"} {
		faults = append(faults, fault{at, change{path: at}, run})
	}
	for _, field := range []string{slots, works, path, creation, implementation} {
		faults = append(faults, fault{field + " null", change{field: nil}, run}, fault{field + " left out", change{field: untyped.Missing{}}, run})
	}
	for _, field := range []string{path, creation, implementation} {
		faults = append(faults, fault{field + " empty", change{field: ""}, run})
	}
	for _, rtype := range []string{launcher, worker} {
		for _, policy := range []string{"Always", "ExitCode"} {
			faults = append(faults, fault{rtype + " " + policy, change{rtype + ".restartPolicy": policy}, reject(schema.InvalidValue, rtype+".restartPolicy")})
		}
	}
	holdIn(t, sound, faults)
}

// TestFaultMPIV2Beta1Names: the job has a service of its name, and the names of replicas are hostnames.
func TestFaultMPIV2Beta1Names(t *testing.T) {
	sound := func(t *testing.T) map[string]any { return untyped.Parse(t, mpiV2Beta1).Object }
	faults := []fault{{"the eleventh worker", change{"metadata.name": named(54), "spec.mpiReplicaSpecs.Worker.replicas": int64(11)}, reject(schema.InvalidName, "metadata.name")}}
	for _, name := range []string{"a", "a1", named(54)} {
		faults = append(faults, fault{"name " + name, change{"metadata.name": name}, run})
	}
	for _, name := range []string{"3d-unet", "my.job", named(55), named(63), "a_b"} {
		faults = append(faults, fault{"name " + name, change{"metadata.name": name}, reject(schema.InvalidName, "metadata.name")})
	}
	holdIn(t, sound, faults)
}
