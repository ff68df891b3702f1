package convert

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/kinds/v2beta1"
)

// exampleOf returns the most complete example of a kind: the largest manifest of it in examples/.
func exampleOf(t testing.TB, kind *training.Kind) map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var largest []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "apiVersion: "+kind.APIVersion()+"\nkind: "+kind.Name+"\n") && len(text) > len(largest) {
			largest = text
		}
	}
	if largest == nil {
		t.Fatalf("no example of a %s of %s", kind.Name, kind.Version)
	}
	return untyped.Parse(t, largest).Object
}

// trainerOf returns a legal name of the training container of a kind.
func trainerOf(kind *training.Kind) string { return cmp.Or(kind.Container, "trainer") }

// worstOfKinds returns large jobs of every kind, whose environment is repeated in each container or grows with each replica.
func worstOfKinds(t testing.TB) map[string]map[string]any {
	objects := map[string]map[string]any{}
	for _, kind := range kinds.Served() {
		for name, change := range map[string]func(rtype, pod map[string]any){
			"containers": func(_, pod map[string]any) {
				pod["containers"] = append(containers(), sane(trainerOf(kind)))
			},
			"replicas": func(rtype, _ map[string]any) { rtype["replicas"] = int64(training.MaxReplicas - 100) },
		} {
			raw := exampleOf(t, kind)
			rtype := within(raw, "spec", kind.ReplicaSpecsField, "Worker")
			change(rtype, within(rtype, "template", "spec"))
			objects[kind.Name+" "+kind.Version+", "+name] = raw
		}
	}
	return objects
}

// samples returns valid objects of every kind, to be changed.
func samples(t testing.TB) []map[string]any {
	all := []map[string]any{untyped.Parse(t, large).Object, untyped.Parse(t, elastic).Object, untyped.Parse(t, mpiV2Beta1).Object}
	for _, kind := range kinds.Served() {
		if kind != kinds.TFJob() && kind != kinds.PyTorchJob() && kind != v2beta1.MPIJob() {
			all = append(all, exampleOf(t, kind))
		}
	}
	for _, raw := range all {
		if result := check(t, raw); result.Job == nil {
			t.Fatalf("%v", result.Rejection.Problems)
		}
	}
	return all
}
