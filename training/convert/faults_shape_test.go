package convert

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/untyped"
)

// path is a place in an object: fields, map keys and indices.
type path []any

func (p path) String() string { return convert.Path(p...) }

// node is one value of an object and its path.
type node struct {
	at    path
	value any
}

// nodes returns every value below raw.
func nodes(at path, raw any) []node {
	var all []node
	switch v := raw.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := append(slices.Clone(at), key)
			all = append(append(all, node{below, v[key]}), nodes(below, v[key])...)
		}
	case []any:
		for i := range v {
			below := append(slices.Clone(at), i)
			all = append(append(all, node{below, v[i]}), nodes(below, v[i])...)
		}
	}
	return all
}

// oneReplicaType returns the large object with only its chief; the other replica types are like it.
func oneReplicaType(t testing.TB) map[string]any {
	raw := untyped.Parse(t, large).Object
	put(t, raw, inReplicaSpecs+".PS", untyped.Missing{})
	put(t, raw, inReplicaSpecs+".Worker", untyped.Missing{})
	return raw
}

// under reports whether path is at place or below it.
func under(path, place string) bool {
	rest, ok := strings.CutPrefix(path, place)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// refers reports whether path refers to place: mounts refer to volumes by name, requests to limits. No problem is about the
// whole object.
func refers(place string, p schema.Problem) bool {
	switch {
	case strings.Contains(place, ".volumes"):
		return strings.Contains(p.Path, ".volumeMounts[") && strings.HasSuffix(p.Path, ".name") && p.Code == schema.InvalidValue
	case strings.Contains(place, ".resources"):
		return strings.Contains(p.Path, ".resources.requests") && p.Code == schema.Conflict
	case strings.HasSuffix(place, ".mountPath"):
		return strings.HasSuffix(p.Path, ".mountPath") && p.Code == schema.Conflict
	case strings.Contains(place, "ontainers[") && strings.HasSuffix(place, ".name"):
		return strings.HasSuffix(p.Path, ".name") && p.Code == schema.DuplicateName
	}
	return false
}

// TestOptional leaves out each optional field, or sets it to null: both are the same job.
func TestOptional(t *testing.T) {
	full := sound(t)
	apply(t, full, change{
		inPolicy + ".cleanPodPolicy": "All", inPolicy + ".ttlSecondsAfterFinished": int64(5), inPolicy + ".suspend": true,
		inPolicy + ".schedulingPolicy.queue": "q", "spec.successPolicy": "AllWorkers", "spec.enableDynamicWorker": true,
		inWorker + ".replicas": int64(3), inWorker + ".restartPolicy": "OnFailure", inTemplate + ".metadata.labels": map[string]any{"a": "b"},
	})
	all := describe(check(t, full))
	for _, place := range []string{inPolicy, inPolicy + ".cleanPodPolicy", inPolicy + ".ttlSecondsAfterFinished", inPolicy + ".suspend",
		inPolicy + ".schedulingPolicy", inPolicy + ".schedulingPolicy.queue", "spec.successPolicy", "spec.enableDynamicWorker", inWorker + ".replicas",
		inWorker + ".restartPolicy", inTemplate + ".metadata", inTemplate + ".metadata.labels"} {
		absent, null := untyped.Clone(full).(map[string]any), untyped.Clone(full).(map[string]any)
		put(t, absent, place, untyped.Missing{})
		put(t, null, place, nil)
		got := check(t, absent)
		if outcome(got) != run || describe(got) == all {
			t.Errorf("without %s: %s", place, describe(got))
		}
		if diff := cmp.Diff(describe(got), describe(check(t, null))); diff != "" {
			t.Errorf("%s: -absent +null:\n%s", place, diff)
		}
	}
}

// TestFaultAbsent covers required fields that are absent, null or empty.
func TestFaultAbsent(t *testing.T) {
	m := func(path string) string { return reject(schema.MissingField, path) }
	var faults []fault
	for place, want := range map[string][3]string{
		"apiVersion":             {run, run, reject(schema.InvalidValue, "apiVersion")},
		"kind":                   {run, run, reject(schema.InvalidValue, "kind")},
		"metadata":               {m("metadata.name"), m("metadata.name"), reject(schema.TypeMismatch, "metadata")},
		"metadata.name":          {m("metadata.name"), m("metadata.name"), m("metadata.name")},
		"metadata.namespace":     {run, run, run},
		"spec":                   {m("spec"), m("spec"), reject(schema.TypeMismatch, "spec")},
		inReplicaSpecs:           {m(inReplicaSpecs), m(inReplicaSpecs), reject(schema.TypeMismatch, inReplicaSpecs)},
		inWorker:                 {m(inReplicaSpecs), reject(schema.TypeMismatch, inWorker), reject(schema.TypeMismatch, inWorker)},
		inTemplate:               {m(inTemplate), m(inTemplate), reject(schema.TypeMismatch, inTemplate)},
		inPod:                    {m(inPod), m(inPod), reject(schema.TypeMismatch, inPod)},
		inPod + ".containers":    {m(inPod + ".containers"), m(inPod + ".containers"), reject(schema.TypeMismatch, inPod+".containers")},
		inContainer + ".image":   {m(inContainer + ".image"), m(inContainer + ".image"), m(inContainer + ".image")},
		inContainer + ".name":    {m(inContainer + ".name"), m(inContainer + ".name"), m(inContainer + ".name")},
		inWorker + ".replicas":   {run, run, reject(schema.TypeMismatch, inWorker+".replicas")},
		inPolicy:                 {run, run, reject(schema.TypeMismatch, inPolicy)},
		inPolicy + ".managedBy":  {run, run, reject(schema.InvalidValue, inPolicy+".managedBy")},
		inPod + ".nodeSelector":  {run, run, reject(schema.TypeMismatch, inPod+".nodeSelector")},
		inPod + ".restartPolicy": {run, run, run},
	} {
		faults = append(faults, fault{place + " left out", change{place: untyped.Missing{}}, want[0]}, fault{place + " null", change{place: nil}, want[1]},
			fault{place + " empty", change{place: ""}, want[2]})
	}
	hold(t, append(faults,
		fault{"no container", change{inPod + ".containers": []any{}}, reject(schema.MissingContainer, inPod+".containers")},
		fault{"null container", change{inContainer: nil}, reject(schema.TypeMismatch, inContainer)},
		fault{"second container null", change{inPod + ".containers[1]": nil}, reject(schema.TypeMismatch, inPod+".containers[1]")},
		fault{"null argument", change{inContainer + ".args": []any{"a", nil}}, reject(schema.TypeMismatch, inContainer+".args[1]")},
		fault{"null variable", change{inContainer + ".env": []any{nil}}, reject(schema.TypeMismatch, inContainer+".env[0]")},
		fault{"null label", change{inTemplate + ".metadata.labels.a": nil}, run},
		fault{"null limit", change{inContainer + ".resources.limits.cpu": nil}, reject(schema.TypeMismatch, inContainer+".resources.limits.cpu")},
		fault{"null field that nobody knows", change{inPod + ".future": nil}, warn(schema.UnknownField, inPod+".future")},
	))
}
