package convert

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/kinds"
)

// sound returns a small valid object that a test may change.
func sound(t *testing.T) map[string]any {
	t.Helper()
	return untyped.Parse(t, []byte(`
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mnist, namespace: team-a}
spec:
  tfReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: tensorflow, image: tf}]}}}
`)).Object
}

func at(t *testing.T, raw map[string]any, keys ...any) any {
	t.Helper()
	var v any = raw
	for _, key := range keys {
		switch key := key.(type) {
		case string:
			v = v.(map[string]any)[key]
		case int:
			v = v.([]any)[key]
		}
	}
	return v
}

func container(t *testing.T, raw map[string]any) map[string]any {
	return at(t, raw, "spec", "tfReplicaSpecs", "Worker", "template", "spec", "containers", 0).(map[string]any)
}

func TestNothing(t *testing.T) {
	for _, u := range []*unstructured.Unstructured{nil, {}, {Object: map[string]any{}}, {Object: map[string]any{"metadata": nil, "spec": nil}}} {
		got := Object(kinds.TFJob(), u)
		want := "rejected /\nerror: metadata.name: must be set [MissingField]\nerror: spec: must be set [MissingField]\n"
		if diff := cmp.Diff(want, describe(got)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestHead(t *testing.T) {
	at := metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	epoch := metav1.Unix(0, 0)
	full := metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "c", ResourceVersion: "1", Generation: 2, CreationTimestamp: at, DeletionTimestamp: &at}
	for _, c := range []struct {
		name string
		meta any
		want metav1.ObjectMeta
	}{
		{"full", map[string]any{"name": "a", "namespace": "b", "uid": "c", "resourceVersion": "1", "generation": int64(2),
			"creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:05Z",
			"labels": map[string]any{"x": int64(3)}, "annotations": []any{}, "managedFields": "x", "finalizers": []any{int64(1)}}, full},
		{"not an object", []any{"name"}, metav1.ObjectMeta{}},
		{"wrong types", map[string]any{"name": int64(1), "namespace": true, "uid": 1.5, "resourceVersion": nil, "generation": "2",
			"creationTimestamp": int64(3)}, metav1.ObjectMeta{}},
		{"generation as a float", map[string]any{"name": "a", "generation": 2.0}, metav1.ObjectMeta{Name: "a", Generation: 2}},
		{"not deleting", map[string]any{"name": "a", "deletionTimestamp": nil}, metav1.ObjectMeta{Name: "a"}},
		{"deleting at no time", map[string]any{"name": "a", "deletionTimestamp": "soon"}, metav1.ObjectMeta{Name: "a", DeletionTimestamp: &epoch}},
		{"deleting at zero", map[string]any{"name": "a", "deletionTimestamp": "0001-01-01T00:00:00Z"}, metav1.ObjectMeta{Name: "a", DeletionTimestamp: &epoch}},
		{"deleting, a number", map[string]any{"name": "a", "deletionTimestamp": int64(0)}, metav1.ObjectMeta{Name: "a", DeletionTimestamp: &epoch}},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := sound(t)
			raw["metadata"] = c.meta
			if diff := cmp.Diff(c.want, Object(kinds.TFJob(), &unstructured.Unstructured{Object: raw}).Meta); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestOwnFailure: a panic in the converter or in a kind results in a rejection that says so.
func TestOwnFailure(t *testing.T) {
	kind := *kinds.TFJob()
	kind.Lower = func(*training.Job, any) []schema.Problem { panic("boom\n\"boom\"") }
	got := Object(&kind, &unstructured.Unstructured{Object: sound(t)})
	want := "rejected team-a/mnist\nerror: spec: found an object on which the operator fails with \"boom \\\"boom\\\"\"; " +
		"this is a bug in the operator, not in the object; please report it [InvalidValue]\n"
	if diff := cmp.Diff(want, describe(got)); diff != "" {
		t.Error(diff)
	}
	if got := Object(nil, nil); got.Rejection == nil || got.Head == nil || len(got.Rejection.Problems) != 1 {
		t.Errorf("%+v", got)
	}
	kind.Options = nil
	if got := Object(&kind, &unstructured.Unstructured{Object: sound(t)}); got.Rejection == nil || got.Meta.Name != "mnist" {
		t.Errorf("%+v", got)
	}
}

// TestManyProblems: the first hundred problems, always the same ones, and the total number are reported.
func TestManyProblems(t *testing.T) {
	raw := sound(t)
	env, labels, unknown := []any{}, map[string]any{}, map[string]any{}
	for i := range 10000 {
		env = append(env, map[string]any{"name": "A", "value": int64(i), "x": nil})
		labels[fmt.Sprint("not a key ", i)] = int64(i)
		unknown[fmt.Sprint("Role", i)] = map[string]any{}
	}
	c := container(t, raw)
	c["env"] = env
	at(t, raw, "spec", "tfReplicaSpecs", "Worker", "template").(map[string]any)["metadata"] = map[string]any{"labels": labels}
	unknown["Worker"] = at(t, raw, "spec", "tfReplicaSpecs", "Worker")
	raw["spec"].(map[string]any)["tfReplicaSpecs"] = unknown

	got := check(t, raw)
	if n := len(got.Rejection.Problems); n != reportLimit+1 {
		t.Errorf("%d problems", n)
	}
	if want, first := "spec: found 40000 problems; the first 100 are listed", got.Rejection.Problems[0].String(); first != want {
		t.Errorf("got %s, want %s", first, want)
	}
	if want, first := "spec: found 10000 problems; the first 100 are listed", got.Warnings[0].String(); first != want {
		t.Errorf("got %s, want %s", first, want)
	}
	if text := schema.Summarize(got.Rejection.Problems, got.Rejection.More, "no pods were created", ""); len(text) > schema.MaxSummary {
		t.Errorf("%d bytes", len(text))
	}
}

func TestManyProblemsOfTheWholeJob(t *testing.T) {
	kind := *kinds.TFJob()
	kind.Lower = func(*training.Job, any) []schema.Problem {
		problems := make([]schema.Problem, 1000)
		for i := range problems {
			problems[i] = schema.Problem{Code: schema.Conflict, Path: fmt.Sprint("spec.x", i), Found: "x"}
		}
		return problems
	}
	if n := len(Object(&kind, &unstructured.Unstructured{Object: sound(t)}).Rejection.Problems); n != reportLimit+1 {
		t.Errorf("%d problems", n)
	}
}

// TestAtOnce: conversions run concurrently, including the first one of a kind.
func TestAtOnce(t *testing.T) {
	kind := *kinds.TFJob() // not in the cache of shapes yet
	raw := untyped.Parse(t, large).Object
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if got := Object(&kind, &unstructured.Unstructured{Object: raw}); got.Job == nil {
					t.Error(describe(got))
				}
			}
		})
	}
	group.Wait()
}

// The operator must not reject an object of another controller, so ManagedBy is read whatever else is wrong.
func TestManagerIsReadOfRejections(t *testing.T) {
	for _, c := range []struct {
		policy any
		want   string
	}{
		{map[string]any{"managedBy": training.ManagedByMultiKueue, "backoffLimit": "x"}, training.ManagedByMultiKueue},
		{map[string]any{"managedBy": training.ManagedByUs, "backoffLimit": "x"}, ""},
		{map[string]any{"managedBy": "example.com/me"}, ""},
		{map[string]any{"managedBy": int64(3)}, ""},
		{"text", ""},
	} {
		raw := sound(t)
		raw["spec"].(map[string]any)["runPolicy"] = c.policy
		result := Object(kinds.TFJob(), &unstructured.Unstructured{Object: raw})
		if result.Rejection == nil || result.ManagedBy != c.want {
			t.Errorf("%v: managed by %q, rejection %v; want %q and a rejection", c.policy, result.ManagedBy, result.Rejection, c.want)
		}
	}
}

// If any name is allowed, the first container trains. The exit code is that of the container with the kind's name, if any.
func TestFirstContainer(t *testing.T) {
	kind := *kinds.TFJob()
	kind.FirstContainer, kind.Port = true, training.Port{}
	for containers, want := range map[string]string{
		`[{"name":"a","image":"x"}]`:                                   "a",
		`[{"name":"a","image":"x"},{"name":"b","image":"x"}]`:          "a",
		`[{"name":"a","image":"x"},{"name":"tensorflow","image":"x"}]`: "tensorflow",
		`[{"name":"tensorflow","image":"x"},{"name":"a","image":"x"}]`: "tensorflow",
		`[]`:                           "",
		`[{"image":"x"}]`:              "",
		`[{"name":"A B","image":"x"}]`: "",
		`["a"]`:                        "",
	} {
		var raw map[string]any
		text := `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"j","namespace":"ns"},"spec":{"tfReplicaSpecs":{"Worker":{"template":{"spec":{"containers":` + containers + `}}}}}}`
		if err := json.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		result := Object(&kind, &unstructured.Unstructured{Object: raw})
		switch {
		case want == "" && result.Job != nil:
			t.Errorf("%s is accepted", containers)
		case want != "" && result.Job == nil:
			t.Errorf("%s: %v", containers, result.Rejection.Problems)
		case want != "":
			rtype := result.Job.ReplicaTypes[0]
			if rtype.Container != want || len(rtype.Ports) > 0 || strings.Contains(string(rtype.Template), "containerPort") {
				t.Errorf("%s: %q trains, with ports %v: %s", containers, rtype.Container, rtype.Ports, rtype.Template)
			}
		}
	}
}
