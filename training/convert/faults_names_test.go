package convert

import (
	"strings"
	"testing"

	"stoic/schema"
)

// named returns a name of that length.
func named(n int) string { return strings.Repeat("a", n) }

// TestFaultNames covers the name of a job, from which the names of all children are derived. "-worker-0" has 9 characters.
func TestFaultNames(t *testing.T) {
	bad := reject(schema.InvalidName, "metadata.name")
	faults := []fault{
		{"room to the last character", change{"metadata.name": named(54)}, run},
		{"one too many", change{"metadata.name": named(55)}, bad},
		{"ten replicas", change{"metadata.name": named(54), inWorker + ".replicas": int64(10)}, run},
		{"the eleventh replica", change{"metadata.name": named(54), inWorker + ".replicas": int64(11)}, bad},
		{"a thousand and one", change{"metadata.name": named(51), inWorker + ".replicas": int64(1001)}, run},
		{"no room for a thousand and one", change{"metadata.name": named(52), inWorker + ".replicas": int64(1001)}, bad},
		{"no replica needs the room of one", change{"metadata.name": named(54), inWorker + ".replicas": int64(0), inReplicaSpecs + ".PS": replicaSpec()}, warn(schema.Conflict, inReplicaSpecs)},
		{"the longest replica type counts", change{"metadata.name": named(52), inReplicaSpecs + ".Evaluator": replicaSpec()}, bad},
		{"room for the longest replica type", change{"metadata.name": named(51), inReplicaSpecs + ".Evaluator": replicaSpec()}, run},
		{"a namespace of any length", change{"metadata.namespace": named(300)}, run},
	}
	for _, name := range []string{"1", "1a", "0-a", "-a", "a-", "a.b", "a_b", "A", "aB", "a b", "é", "a\x00", "a\n", "😀", "a\xff", "\u202ea", "a/b", " a", ".", "-", "ａ", named(63), named(64), named(253), named(254)} {
		faults = append(faults, fault{"name " + name, change{"metadata.name": name}, bad})
	}
	for _, name := range []string{"a", "a1", "a-1", "a--b", "x0", named(20)} {
		faults = append(faults, fault{"name " + name, change{"metadata.name": name}, run})
	}
	hold(t, faults)
}

// replicaSpec returns a valid replica spec.
func replicaSpec() map[string]any {
	return map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{sane("tensorflow")}}}}
}

// sane returns a valid container.
func sane(name string) map[string]any { return map[string]any{"name": name, "image": "tf"} }

// TestFaultCollisions covers equal names where names must be unique.
func TestFaultCollisions(t *testing.T) {
	port := func(name string, number int64) map[string]any {
		return map[string]any{"name": name, "containerPort": number}
	}
	twice := func(path string) string { return reject(schema.DuplicateName, path) }
	hold(t, []fault{
		{"containers", change{inPod + ".containers": []any{sane("tensorflow"), sane("a"), sane("a")}}, twice(inPod + ".containers[2].name")},
		{"training containers", change{inPod + ".containers": []any{sane("tensorflow"), sane("tensorflow")}}, twice(inPod + ".containers[1].name")},
		{"a container and an init container", change{inPod + ".initContainers": []any{sane("tensorflow")}}, twice(inPod + ".initContainers[0].name")},
		{"init containers", change{inPod + ".initContainers": []any{sane("a"), sane("a")}}, twice(inPod + ".initContainers[1].name")},
		{"volumes", change{inPod + ".volumes": []any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}}, twice(inPod + ".volumes[1].name")},
		{"ports", change{inContainer + ".ports": []any{port("a", 1), port("a", 2)}}, twice(inContainer + ".ports[1].name")},
		{"default ports", change{inContainer + ".ports": []any{port("tfjob-port", 1), port("tfjob-port", 2)}}, twice(inContainer + ".ports[1].name")},
		{"numbers of ports may be the same", change{inContainer + ".ports": []any{port("a", 1), port("b", 1)}}, run},
		{"ports without a name", change{inContainer + ".ports": []any{port("", 1), port("", 1)}}, run},
		{"ports of two containers", change{inPod + ".containers[1]": sane("b"), inPod + ".containers[1].ports": []any{port("a", 1)}, inContainer + ".ports": []any{port("a", 1)}}, run},
		{"variables may be set again", change{inContainer + ".env": []any{map[string]any{"name": "A"}, map[string]any{"name": "A"}}}, run},
		{"the variable that is ours", change{inContainer + ".env": []any{map[string]any{"name": "TF_CONFIG", "value": "x"}}}, run},
		{"mounts in one place", change{inPod + ".volumes[0].name": "a", inContainer + ".volumeMounts": []any{
			map[string]any{"name": "a", "mountPath": "/a"}, map[string]any{"name": "a", "mountPath": "/a"}}}, reject(schema.Conflict, inContainer+".volumeMounts[1].mountPath")},
		{"a replica type in two cases", change{inReplicaSpecs + ".worker": replicaSpec()}, twice(inReplicaSpecs + ".worker")},
		{"a replica type in three cases", change{inReplicaSpecs + ".worker": replicaSpec(), inReplicaSpecs + ".WORKER": replicaSpec()}, also(twice(inReplicaSpecs+".WORKER"), schema.DuplicateName, inReplicaSpecs+".worker")},
		{"a replica type with a letter that folds to its own", change{inReplicaSpecs: map[string]any{"Wor\u212Aer": replicaSpec()}}, run},
		{"twice, with such a letter", change{inReplicaSpecs + "[\"Wor\u212Aer\"]": replicaSpec()}, twice(inReplicaSpecs + "[\"Wor\u212Aer\"]")},
		{"chief and master", change{inReplicaSpecs + ".Chief": replicaSpec(), inReplicaSpecs + ".Master": replicaSpec()}, reject(schema.Conflict, inReplicaSpecs)},
		{"labels that are ours", change{inTemplate + `.metadata.labels["training.kubeflow.org/job-name"]`: "other"},
			warn(schema.Conflict, inTemplate+`.metadata.labels["training.kubeflow.org/job-name"]`)},
		{"keys that differ in case", change{inPod + ".Containers": []any{}, inContainer + ".Image": "x"},
			warn(schema.UnknownField, inPod+".Containers") + "\nwarning UnknownField " + inContainer + ".Image"},
	})
}

// TestFaultUnknown covers unknown versions, kinds, replica types and fields; unknown.txtar and replicaspecs.txtar have others.
func TestFaultUnknown(t *testing.T) {
	hold(t, []fault{
		{"another group", change{"apiVersion": "apps/v1"}, reject(schema.InvalidValue, "apiVersion")},
		{"another case", change{"apiVersion": "Kubeflow.org/v1"}, reject(schema.InvalidValue, "apiVersion")},
		{"another kind's case", change{"kind": "TfJob"}, reject(schema.InvalidValue, "kind")},
		{"a replica type that is null", change{inReplicaSpecs + ".Foo": nil}, reject(schema.UnknownReplicaType, inReplicaSpecs+".Foo")},
		{"no replica type", change{inReplicaSpecs + `[""]`: replicaSpec()}, reject(schema.UnknownReplicaType, inReplicaSpecs+`[""]`)},
		{"a replica type with a space", change{inReplicaSpecs + `["Worker "]`: replicaSpec()}, reject(schema.UnknownReplicaType, inReplicaSpecs+`["Worker "]`)},
		{"only such a replica type", change{inReplicaSpecs: map[string]any{"Foo": replicaSpec()}}, reject(schema.UnknownReplicaType, inReplicaSpecs+".Foo")},
		{"a replica type in another case", change{inReplicaSpecs: map[string]any{"wORKER": replicaSpec()}}, run},
		{"another kind's replica types", change{"spec.pytorchReplicaSpecs": map[string]any{}}, warn(schema.UnknownField, "spec.pytorchReplicaSpecs")},
		{"of the object", change{"future": int64(1)}, warn(schema.UnknownField, "future")},
		{"of the policy", change{inPolicy + ".future": nil}, warn(schema.UnknownField, inPolicy+".future")},
		{"of a probe", change{inContainer + ".livenessProbe.future": "x"}, warn(schema.UnknownField, inContainer+".livenessProbe.future")},
		{"a source of a volume", change{inPod + ".volumes[0]": map[string]any{"name": "a", "future": map[string]any{"x": "y"}}}, warn(schema.UnknownField, inPod+".volumes[0].future")},
		{"an empty key", change{inPod + `[""]`: "x"}, warn(schema.UnknownField, inPod+`[""]`)},
		{"a replica type in the wrong place", change{"spec.Worker": replicaSpec()}, warn(schema.MisplacedField, "spec.Worker")},
		{"the restart policy of the template", change{inPod + ".restartPolicy": "Always"}, warn(schema.Conflict, inPod+".restartPolicy")},
	})
}
