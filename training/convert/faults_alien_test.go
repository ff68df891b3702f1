package convert

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/training/kinds"
)

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
