package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training/kinds"
)

// aliens are Go values that no decoder returns: a program built the object, or a library changed.
func aliens() map[string]any {
	text, nothing := "x", (*string)(nil)
	var typed *unstructured.Unstructured
	return map[string]any{
		"[]string": []string{"a"}, "map[string]string": map[string]string{"a": "b"}, "map[any]any": map[any]any{1: 2},
		"[]map": []map[string]any{{"name": "tensorflow"}}, "struct": struct{ Name string }{"a"}, "pointer": &text, "nil pointer": nothing,
		"nil object": typed, "channel": make(chan int), "function": func() {}, "nil function": (func())(nil), "complex": complex(1, 2),
		"bytes": []byte("abc"), "array": [2]int{1, 2}, "uintptr": uintptr(1), "named text": schema.Code("x"),
		"pointer to a map": &map[string]any{"a": 1}, "pointer to a list": &[]any{1}, "kind": kinds.TFJob(),
	}
}

// TestFaultAliens: a value that is no JSON is reported where it is read, and where it is copied.
func TestFaultAliens(t *testing.T) {
	for name, value := range aliens() {
		for _, place := range []string{
			"apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace", "spec", "spec.successPolicy", "spec.enableDynamicWorker",
			inPolicy, inPolicy + ".suspend", inPolicy + ".backoffLimit", inPolicy + ".schedulingPolicy", inPolicy + ".schedulingPolicy.minResources",
			inPolicy + `.schedulingPolicy.minResources.cpu`, inReplicaSpecs, inWorker, inWorker + ".replicas", inWorker + ".restartPolicy", inTemplate,
			inTemplate + ".metadata", inTemplate + ".metadata.labels", inTemplate + ".metadata.labels.a", inPod, inPod + ".containers", inContainer,
			inContainer + ".name", inContainer + ".image", inContainer + ".args", inContainer + ".args[0]", inContainer + ".env", inContainer + ".env[0]",
			inContainer + ".ports", inContainer + ".resources.limits", inContainer + ".resources.limits.cpu", inContainer + ".livenessProbe.httpGet.port",
			inPod + ".volumes", inPod + ".nodeSelector", inPod + ".hostNetwork", inPod + ".tolerations[0]",
		} {
			raw := sound(t)
			put(t, raw, place, value)
			if got, want := outcome(answer(t, raw)), reject(schema.TypeMismatch, place); got != want {
				t.Errorf("%s in %s: got %s\nwant %s", name, place, got, want)
			}
		}
		for _, place := range []string{inPod + ".future", inContainer + ".future", inPod + ".containers[0].future[0]"} {
			raw := sound(t)
			put(t, raw, place, value)
			unknown := strings.TrimSuffix(place, "[0]")
			if got, want := outcome(answer(t, raw)), reject(schema.TypeMismatch, place)+"\nwarning "+string(schema.UnknownField)+" "+unknown; got != want {
				t.Errorf("%s in %s: got %s\nwant %s", name, place, got, want)
			}
		}
		for _, place := range []string{"status", "status.conditions", "status.replicaStatuses", "metadata.labels", "metadata.annotations", "metadata.ownerReferences",
			inTemplate + ".metadata.name", inTemplate + ".metadata.creationTimestamp"} {
			raw := sound(t)
			put(t, raw, place, value)
			want := run
			if under(place, inTemplate) {
				want = warn(schema.MisplacedField, place)
			}
			if got := outcome(answer(t, raw)); got != want {
				t.Errorf("%s in %s: got %s, want %s", name, place, got, want)
			}
		}
	}
}

// TestFaultNils: a typed nil is an empty map or list.
func TestFaultNils(t *testing.T) {
	none, empty := map[string]any(nil), []any(nil)
	hold(t, []fault{
		{"metadata", change{"metadata": none}, reject(schema.MissingField, "metadata.name")},
		{"spec", change{"spec": none}, reject(schema.MissingField, inReplicaSpecs)},
		{"policy", change{inPolicy: none}, run},
		{"resources of the gang", change{inPolicy + ".schedulingPolicy": map[string]any{"minResources": none}}, run},
		{"replica types", change{inReplicaSpecs: none}, reject(schema.MissingField, inReplicaSpecs)},
		{"replica type", change{inWorker: none}, reject(schema.MissingField, inTemplate)},
		{"template", change{inTemplate: none}, reject(schema.MissingField, inPod)},
		{"pod", change{inPod: none}, reject(schema.MissingField, inPod+".containers")},
		{"metadata of the template", change{inTemplate + ".metadata": none}, run},
		{"labels", change{inTemplate + ".metadata": map[string]any{"labels": none, "annotations": none}}, run},
		{"containers", change{inPod + ".containers": empty}, reject(schema.MissingContainer, inPod+".containers")},
		{"container", change{inContainer: none}, also(reject(schema.MissingField, inContainer+".image"), schema.MissingField, inContainer+".name")},
		{"lists of a container", change{inContainer + ".args": empty, inContainer + ".env": empty, inContainer + ".ports": empty}, run},
		{"lists of a pod", change{inPod + ".volumes": empty, inPod + ".initContainers": empty, inPod + ".tolerations": empty}, run},
		{"resources", change{inContainer + ".resources": none}, run},
		{"limits", change{inContainer + ".resources": map[string]any{"limits": none, "requests": none}}, run},
		{"status", change{"status": none}, run},
		{"conditions", change{"status": map[string]any{"conditions": empty, "replicaStatuses": none}}, run},
	})
	if got, want := outcome(answer(t, none)), also(reject(schema.MissingField, "metadata.name"), schema.MissingField, "spec"); got != want {
		t.Errorf("no object: got %s, want %s", got, want)
	}
}

// TestFaultNumbersOfPrograms: numbers of Go types that no decoder returns are accepted as numbers.
func TestFaultNumbersOfPrograms(t *testing.T) {
	for _, n := range []any{2, int8(2), int16(2), int32(2), uint(2), uint8(2), uint16(2), uint32(2), uint64(2), float32(2)} {
		raw := sound(t)
		put(t, raw, inWorker+".replicas", n)
		put(t, raw, inPod+".priority", n)
		put(t, raw, inPod+".future", n)
		got := check(t, raw)
		if want := warn(schema.UnknownField, inPod+".future"); outcome(got) != want {
			t.Fatalf("%T: got %s, want %s", n, outcome(got), want)
		}
		want := `{"spec":{"containers":[{"image":"tf","name":"tensorflow","ports":[{"containerPort":2222,"name":"tfjob-port"}]}],"future":2,"priority":2,"restartPolicy":"Never"}}`
		if diff := cmp.Diff(want, string(got.Job.ReplicaTypes[0].Template)); got.Job.ReplicaTypes[0].Replicas != 2 || diff != "" {
			t.Errorf("%T: %d replicas, %s", n, got.Job.ReplicaTypes[0].Replicas, diff)
		}
	}
}

// TestFaultCycles: the conversion of an object that contains itself terminates.
func TestFaultCycles(t *testing.T) {
	for _, place := range []string{"metadata", "metadata.labels", "spec.future", "status", "status.conditions[0]", "status.replicaStatuses.Worker", inPolicy,
		inPolicy + ".schedulingPolicy", inReplicaSpecs, inWorker, inTemplate, inTemplate + ".metadata", inTemplate + ".metadata.labels", inPod, inPod + ".future",
		inContainer, inContainer + ".future", inContainer + ".resources", inContainer + ".resources.limits", inContainer + ".env[0]", inPod + ".volumes[0]"} {
		raw := sound(t)
		self := map[string]any{}
		for _, key := range []string{"a", "b", "metadata", "spec", "template", "Worker", "conditions", "limits", "status"} {
			self[key] = self
		}
		list := make([]any, 3)
		list[0], list[1], list[2] = self, list, self
		self["containers"], self["env"], self["volumes"] = list, list, list
		put(t, raw, place, self)
		answer(t, raw)
	}
	raw := sound(t)
	raw["spec"] = raw
	raw["metadata"].(map[string]any)["labels"] = raw
	if got, want := answer(t, raw), reject(schema.MissingField, inReplicaSpecs); !strings.HasPrefix(outcome(got), want) {
		t.Errorf("got %s, want %s", outcome(got), want)
	}
}

// TestFaultShared: a small object with the same map in many places counts as a huge one.
func TestFaultShared(t *testing.T) {
	var shared any = "x"
	for range depthLimit - 1 {
		shared = map[string]any{"a": shared, "b": shared}
	}
	raw := sound(t)
	put(t, raw, inPod+".future", shared)
	if got, want := outcome(answer(t, raw)), reject(schema.TooLarge, "spec")+"\nwarning UnknownField "+inPod+".future"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
