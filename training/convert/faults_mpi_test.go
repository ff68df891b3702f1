package convert

import (
	"math"
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

// TestFaultMPI covers the faults that only an MPIJob can have.
func TestFaultMPI(t *testing.T) {
	const specs = "spec.mpiReplicaSpecs"
	const launcher, worker = specs + ".Launcher", specs + ".Worker"
	const inArgs = launcher + ".template.spec.containers[0].args"
	const minimum = `metadata.annotations["training.kubeflow.org/launcher-min-workers"]`
	discovering := func(processes string) []any {
		return []any{"--min-np", processes, "--host-discovery-script", "/etc/mpi/discover_hosts.sh"}
	}
	plain := map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "b"}}}}}
	holdIn(t, soundMPI, []fault{
		{"nothing", change{}, run},
		{"slots", change{"spec.slotsPerWorker": int64(8)}, run},
		{"no slots", change{"spec.slotsPerWorker": int64(0)}, run},
		{"slots that are null", change{"spec.slotsPerWorker": nil}, run},
		{"fewer slots than none", change{"spec.slotsPerWorker": int64(-1)}, reject(schema.OutOfRange, "spec.slotsPerWorker")},
		{"slots beyond a number", change{"spec.slotsPerWorker": int64(math.MaxInt64)}, reject(schema.OutOfRange, "spec.slotsPerWorker")},
		{"half a slot", change{"spec.slotsPerWorker": 0.5}, reject(schema.TypeMismatch, "spec.slotsPerWorker")},
		{"slots in quotes", change{"spec.slotsPerWorker": "2"}, reject(schema.TypeMismatch, "spec.slotsPerWorker")},
		{"a policy", change{"spec.cleanPodPolicy": "All"}, run},
		{"an empty policy", change{"spec.cleanPodPolicy": ""}, run},
		{"a policy in lower case", change{"spec.cleanPodPolicy": "all"}, reject(schema.InvalidValue, "spec.cleanPodPolicy")},
		{"a policy that is a list", change{"spec.cleanPodPolicy": []any{"All"}}, reject(schema.TypeMismatch, "spec.cleanPodPolicy")},
		{"a container of the workers", change{"spec.mainContainer": "worker"}, run},
		{"a container of the launcher", change{"spec.mainContainer": "launcher"}, reject(schema.InvalidValue, "spec.mainContainer")},
		{"a command for a container", change{"spec.mainContainer": "worker; rm -r /"}, reject(schema.InvalidValue, "spec.mainContainer")},
		{"a container that is a number", change{"spec.mainContainer": int64(1)}, reject(schema.TypeMismatch, "spec.mainContainer")},
		{"no launcher", change{specs: map[string]any{"Worker": map[string]any{"replicas": int64(1), "template": plain["template"]}}}, reject(schema.MissingField, launcher)},
		{"a launcher that is null", change{launcher: nil}, reject(schema.TypeMismatch, launcher)},
		{"two launchers", change{launcher + ".replicas": int64(2)}, reject(schema.ReplicaCount, launcher+".replicas")},
		{"a launcher that is none", change{launcher + ".replicas": int64(0)}, reject(schema.ReplicaCount, launcher+".replicas")},
		{"a launcher alone", change{specs: map[string]any{"Launcher": plain}}, run},
		{"no workers", change{worker + ".replicas": int64(0)}, run},
		{"fewer workers than none", change{worker + ".replicas": int64(-1)}, reject(schema.OutOfRange, worker+".replicas")},
		{"more workers than a ConfigMap can name", change{"metadata.name": strings.Repeat("x", 50), worker + ".replicas": int64(19999)}, reject(schema.TooLarge, worker+".replicas")},
		{"another case", change{specs: map[string]any{"launcher": plain}}, reject(schema.UnknownReplicaType, specs+".launcher")},
		{"another kind's replica type", change{specs + ".Master": plain}, reject(schema.UnknownReplicaType, specs+".Master")},
		{"no containers", change{worker + ".template.spec.containers": []any{}}, reject(schema.MissingContainer, worker+".template.spec.containers")},
		{"a launcher that discovers hosts", change{inArgs: discovering("2")}, run},
		{"as many processes as there are slots", change{inArgs: discovering("4"), "spec.slotsPerWorker": int64(2)}, run},
		{"more processes than slots", change{inArgs: discovering("5"), "spec.slotsPerWorker": int64(2)}, warn(schema.Conflict, inArgs)},
		{"more processes than a number", change{inArgs: discovering("99999999999999999999")}, warn(schema.Conflict, inArgs)},
		{"more processes of a static launcher", change{inArgs: []any{"-np", "5"}}, run},
		{"a minimum of workers", change{minimum: "2"}, run},
		{"a minimum of no workers", change{minimum: "0"}, warn(schema.InvalidValue, minimum)},
		{"a minimum above all workers", change{minimum: "3"}, warn(schema.InvalidValue, minimum)},
		{"a minimum where there are no workers", change{minimum: "1", worker + ".replicas": int64(0)}, warn(schema.InvalidValue, minimum)},
		{"a minimum that is empty", change{minimum: ""}, warn(schema.InvalidValue, minimum)},
		{"a minimum in words", change{minimum: "all"}, warn(schema.InvalidValue, minimum)},
		{"a minimum beyond a number", change{minimum: "99999999999999999999"}, warn(schema.InvalidValue, minimum)},
		{"a field of the other version", change{"spec.mpiImplementation": "Intel"}, warn(schema.UnknownField, "spec.mpiImplementation")},
	})
}

// TestFaultMPINames: jobs without services may have any name that pods and labels can have, as training-operator 1.9.4 ran them.
func TestFaultMPINames(t *testing.T) {
	const worker = "spec.mpiReplicaSpecs.Worker"
	bad := reject(schema.InvalidName, "metadata.name")
	var faults []fault
	for _, name := range []string{"3d-unet", "my.job", "1", "0.1", "a-1.b--c", "v1.2.3", named(55), named(63), "3" + named(62), named(30) + "." + named(32)} {
		faults = append(faults, fault{"name " + name, change{"metadata.name": name}, run},
			fault{"with many workers, name " + name, change{"metadata.name": name, worker + ".replicas": int64(5000)}, run})
	}
	for _, name := range []string{"3D", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b", "a_b", "a/b", "a b", "é", "", named(64), named(32) + "." + named(31), named(253), named(254)} {
		want := bad
		if name == "" {
			want = reject(schema.MissingField, "metadata.name")
		}
		faults = append(faults, fault{"name " + name, change{"metadata.name": name}, want})
	}
	holdIn(t, soundMPI, faults)
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
