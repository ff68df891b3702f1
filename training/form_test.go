package training_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/training"
)

// The cached state of a dependent object can be read from an object of any shape.
func TestStateOfIsTotal(t *testing.T) {
	values := rapid.OneOf(rapid.Just[any](nil), rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(),
		rapid.Just[any](map[string]any{"phase": []any{1}}), rapid.Just[any](map[string]any{"phase": "Running"}),
		rapid.Just[any](map[string]any{"a": map[string]any{}, "b": nil, "c": []any{nil}}), rapid.Just[any]([]any{map[string]any{}}))
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{}
		for _, key := range []string{"spec", "status", "data", "type", "rules", "roleRef", "subjects"} {
			object[key] = values.Draw(t, key)
		}
		s := training.FormOf(training.PodGroups()).StateOf(object)
		status, _ := object["status"].(map[string]any)
		if phase, _ := status["phase"].(string); s.Phase != phase {
			t.Fatalf("the phase is %q, want %q", s.Phase, phase)
		}
		want, err := json.Marshal(object["spec"])
		if object["spec"] == nil {
			want = nil
		}
		if err == nil && string(s.Spec) != string(want) {
			t.Fatalf("the spec is %s, want %s", s.Spec, want)
		}
		for _, r := range []schema.Resource{schema.ConfigMaps(), schema.Secrets(), training.Roles(), training.RoleBindings(), training.ServiceAccounts()} {
			if s := training.FormOf(r).StateOf(object); s.Spec != nil || s.Content != nil && !json.Valid(s.Content) {
				t.Fatalf("of a %s: %+v", r.Kind, s)
			}
		}
	})
	if s := training.FormOf(training.Autoscalers()).StateOf(nil); s == nil || s.Phase != "" || s.Spec != nil {
		t.Errorf("of an object without content: %+v", s)
	}
}

// The cache holds neither secret nor long content.
func TestContentIsNotKept(t *testing.T) {
	long := strings.Repeat("job-worker-0 slots=1\n", 1000)
	for _, c := range []struct {
		resource schema.Resource
		object   string
	}{
		{schema.ConfigMaps(), `{"data":{"hostfile":"` + strings.ReplaceAll(long, "\n", `\n`) + `","kubexec.sh":"secret"}}`},
		{schema.Secrets(), `{"type":"kubernetes.io/ssh-auth","data":{"ssh-privatekey":"secret","ssh-publickey":"secret"}}`},
		{training.Roles(), `{"rules":[{"verbs":["secret"]}]}`},
		{training.RoleBindings(), `{"subjects":[{"name":"secret"}],"roleRef":{"name":"secret"}}`},
		{training.ServiceAccounts(), `{"secrets":[{"name":"secret"}]}`},
	} {
		var object map[string]any
		if err := json.Unmarshal([]byte(c.object), &object); err != nil {
			t.Fatal(err)
		}
		s := training.FormOf(c.resource).StateOf(object)
		if strings.Contains(string(s.Content)+string(s.Spec), "secret") || len(s.Content) > 150 {
			t.Errorf("of a %s there is kept: %s", c.resource.Kind, s.Content)
		}
	}
}

// Values that differ only in empty members have the same hash, as API servers leave those out; other values differ.
func TestKept(t *testing.T) {
	form := training.FormOf(training.Roles())
	kept := func(text string) map[string]any {
		var content map[string]any
		if err := json.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		return form.Kept(content)
	}
	want := kept(`{"rules":[{"apiGroups":[""],"verbs":["get","list"]}]}`)
	if diff := cmp.Diff(want, kept(`{"rules":[{"verbs":["get","list"],"resourceNames":[],"apiGroups":[""],"x":""}],"other":1}`)); diff != "" {
		t.Error(diff)
	}
	for _, other := range []string{`{"rules":[{"apiGroups":[""],"verbs":["list","get"]}]}`, `{"rules":[{"apiGroups":[],"verbs":["get","list"]}]}`,
		`{"rules":[]}`, `{}`, `{"rules":null}`, `{"rules":{"a":1}}`, `{"rules":"get"}`} {
		if cmp.Diff(want, kept(other)) == "" {
			t.Errorf("%s is taken for the same", other)
		}
	}
}
