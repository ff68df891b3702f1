package convert

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"stoic/schema"
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

// asKind returns a TFJob with only workers and no field of its own kind as a job of another kind.
func asKind(raw map[string]any, kind *training.Kind) (other map[string]any, ok bool) {
	spec, _ := raw["spec"].(map[string]any)
	rtypes, _ := spec[kinds.TFJob().ReplicaSpecsField].(map[string]any)
	if raw["kind"] != kinds.TFJob().Name || rtypes["Worker"] == nil || len(rtypes) != 1 || kind.Port.Name == "" && names(raw, kinds.TFJob().Port.Name) {
		return nil, false
	}
	for key := range spec {
		if key != "runPolicy" && key != kinds.TFJob().ReplicaSpecsField {
			return nil, false
		}
	}
	other, _ = inWordsOf(untyped.Clone(raw), kind).(map[string]any)
	spec, _ = other["spec"].(map[string]any)
	rtypes, _ = spec[kinds.TFJob().ReplicaSpecsField].(map[string]any)
	delete(spec, kinds.TFJob().ReplicaSpecsField)
	spec[kind.ReplicaSpecsField], other["kind"] = rtypes, kind.Name
	if raw["apiVersion"] == kinds.TFJob().APIVersion() {
		other["apiVersion"] = kind.APIVersion()
	}
	if !numberWorkers(rtypes, kind) {
		return nil, false
	}
	for _, rtype := range kind.ReplicaTypes {
		if rtype.Required {
			rtypes[rtype.Name] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{sane(trainerOf(kind))}}}}
		}
	}
	return other, true
}

// numberWorkers sets the number of workers if it is not set and the kind requires one. It reports whether it can.
func numberWorkers(rtypes map[string]any, kind *training.Kind) bool {
	worker, ok := rtypes["Worker"].(map[string]any)
	known := kind.ReplicaType("Worker")
	if !ok || worker["replicas"] != nil || known.Replicas >= known.AtLeast {
		return true
	}
	if worker == nil { // not an empty map: see TestFaultMPIV2Beta1
		return false
	}
	worker["replicas"] = int64(1)
	return true
}

// names reports whether a word occurs anywhere in a value.
func names(v any, word string) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if names(member, word) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return names(item, word) })
	}
	text, is := v.(string)
	return is && text == word
}

// inWordsOf replaces the names of the container and the port by those of a kind.
func inWordsOf(v any, kind *training.Kind) any {
	tf := kinds.TFJob()
	return untyped.Replace(v, func(leaf any) any {
		switch leaf {
		case tf.Container:
			return trainerOf(kind)
		case training.ManagedByUs:
			return kind.ManagedByUs()
		case tf.Port.Name:
			return kind.Port.Name
		case int64(tf.Port.Number):
			return int64(kind.Port.Number)
		}
		return leaf
	})
}

// trainerOf returns a legal name of the training container of a kind.
func trainerOf(kind *training.Kind) string { return cmp.Or(kind.Container, "trainer") }

// holdKinds applies a fault of a TFJob to a job of every other kind. The outcome is the same, except for sizes, sums of
// replicas and names of jobs, which depend on the kind.
func holdKinds(t *testing.T, raw map[string]any, want string) (kindsHeld int) {
	t.Helper()
	for _, kind := range kinds.Served() {
		other, ok := asKind(raw, kind)
		required := slices.ContainsFunc(kind.ReplicaTypes, func(r training.KnownReplicaType) bool { return r.Required })
		sums := slices.ContainsFunc([]string{string(schema.ReplicaCount), string(schema.TooLarge), "minAvailable"}, func(of string) bool { return strings.Contains(want, of) })
		if kind == kinds.TFJob() || !ok || required && sums {
			continue
		}
		if strings.Contains(want, "metadata.name") && !kind.HasServices() { // see TestFaultMPINames
			continue
		}
		kindsHeld++
		want := strings.ReplaceAll(want, inReplicaSpecs, "spec."+kind.ReplicaSpecsField)
		if diff := gocmp.Diff(withoutSizes(want), withoutSizes(outcome(checkAs(t, kind, other)))); diff != "" {
			t.Errorf("%s of %s: -want +got:\n%s", kind.Name, kind.Version, diff)
		}
	}
	return kindsHeld
}

// withoutSizes returns an outcome in order, without parts that depend on the environment of the kind.
func withoutSizes(outcome string) []string {
	lines := strings.Split(outcome, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, string(schema.TooLarge)+" ") })
	if slices.Sort(lines); !slices.ContainsFunc(lines, func(line string) bool { return line != "reject" && !strings.HasPrefix(line, "warning ") }) {
		lines = slices.DeleteFunc(lines, func(line string) bool { return line == "reject" })
		return append(lines, run)
	}
	return lines
}

// TestFaultsOfEveryKind: the catalogue of faults reaches every kind.
func TestFaultsOfEveryKind(t *testing.T) {
	if n := holdKinds(t, sound(t), run); n != len(kinds.Served())-1 {
		t.Errorf("%d kinds of %d", n, len(kinds.Served()))
	}
	raw := sound(t)
	put(t, raw, inContainer+".args", []any{int64(7)})
	if n := holdKinds(t, raw, reject(schema.TypeMismatch, inContainer+".args[0]")); n != len(kinds.Served())-1 {
		t.Errorf("%d kinds of %d", n, len(kinds.Served()))
	}
}

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
