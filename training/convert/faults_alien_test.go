package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training/kinds"
)

// TestFaultAliens: a Go value that no decoder returns is reported where it is read, and where it is copied.
func TestFaultAliens(t *testing.T) {
	text := "x"
	for name, value := range map[string]any{
		"map[string]string": map[string]string{"a": "b"}, "struct": struct{ Name string }{"a"}, "pointer": &text, "nil pointer": (*string)(nil),
		"channel": make(chan int), "bytes": []byte("abc"), "named text": schema.Code("x"), "pointer to a map": &map[string]any{"a": 1},
	} {
		for _, place := range []string{"metadata.name", "spec", inPolicy + ".suspend", inPolicy + `.schedulingPolicy.minResources.cpu`, inWorker + ".replicas",
			inTemplate + ".metadata.labels.a", inPod + ".containers", inContainer + ".args[0]", inContainer + ".resources.limits.cpu", inPod + ".tolerations[0]"} {
			raw := sound(t)
			put(t, raw, place, value)
			if got, want := outcome(convertAny(raw)), reject(schema.TypeMismatch, place); got != want {
				t.Errorf("%s in %s: got %s\nwant %s", name, place, got, want)
			}
		}
		raw := sound(t)
		put(t, raw, inPod+".future", value)
		if got, want := outcome(convertAny(raw)), reject(schema.TypeMismatch, inPod+".future")+"\nwarning UnknownField "+inPod+".future"; got != want {
			t.Errorf("%s in an unknown field: got %s\nwant %s", name, got, want)
		}
		for _, place := range []string{"status", "status.conditions", "metadata.labels", "metadata.annotations"} {
			raw := sound(t)
			put(t, raw, place, value)
			if got := outcome(convertAny(raw)); got != run {
				t.Errorf("%s in %s: got %s, want a job", name, place, got)
			}
		}
	}
}

// convertAny converts a value that cannot be compared or copied.
func convertAny(raw map[string]any) *Result {
	return Object(kinds.TFJob(), &unstructured.Unstructured{Object: raw})
}

// TestFaultNils: a typed nil is an empty map or list.
func TestFaultNils(t *testing.T) {
	none, empty := map[string]any(nil), []any(nil)
	hold(t, []fault{
		{"metadata", change{"metadata": none}, reject(schema.MissingField, "metadata.name")},
		{"spec", change{"spec": none}, reject(schema.MissingField, inReplicaSpecs)},
		{"replica type", change{inWorker: none}, reject(schema.MissingField, inTemplate)},
		{"containers", change{inPod + ".containers": empty}, reject(schema.MissingContainer, inPod+".containers")},
		{"container", change{inContainer: none}, also(reject(schema.MissingField, inContainer+".image"), schema.MissingField, inContainer+".name")},
		{"optional", change{inPolicy: none, inContainer + ".args": empty, inContainer + ".resources": none, inPod + ".volumes": empty, "status": none}, run},
	})
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
	for _, place := range []string{"metadata.labels", "spec.future", "status", "status.replicaStatuses.Worker", inPolicy + ".schedulingPolicy", inReplicaSpecs,
		inTemplate + ".metadata.labels", inPod, inPod + ".future", inContainer, inContainer + ".resources.limits", inContainer + ".env[0]", inPod + ".volumes[0]"} {
		self := map[string]any{}
		list := []any{self}
		for _, key := range []string{"a", "metadata", "spec", "template", "Worker", "conditions", "limits", "status"} {
			self[key] = self
		}
		self["containers"], self["env"], self["volumes"] = list, list, list
		raw := sound(t)
		put(t, raw, place, self)
		if got := convertAny(raw); (got.Job == nil) == (got.Rejection == nil) {
			t.Errorf("%s: job %v, rejection %v", place, got.Job, got.Rejection)
		}
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
	if got, want := outcome(convertAny(raw)), reject(schema.TooLarge, "spec")+"\nwarning UnknownField "+inPod+".future"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
