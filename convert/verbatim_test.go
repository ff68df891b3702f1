package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// stamp is a CRD type that keeps a pod template as the user wrote it.
type stamp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Template corev1.PodTemplateSpec `json:"template"`
	} `json:"spec"`
	text string
}

func readStamp() func(spec map[string]any) *Result {
	read := Typed[stamp](gadgets(), And[corev1.PodTemplateSpec]((*Reader).PodTemplate), Verbatim(func(s *stamp, text []byte) { s.text = string(text) }, "spec", "template"))
	return func(spec map[string]any) *Result { return read(gadgetIn(spec)) }
}

func templateWith(field string, value any) map[string]any {
	return map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}, field: value}}}
}

// TestVerbatim: a field that no library knows is kept, with a warning, and the value is decoded, too.
func TestVerbatim(t *testing.T) {
	got := readStamp()(templateWith("younger", map[string]any{"b": []any{int64(1) << 60, 0.5, "<&>"}, "a": nil}))
	object, ok := got.Object.(*stamp)
	if !ok {
		t.Fatalf("%v", sentences(got))
	}
	const want = `{"spec":{"containers":[{"image":"i","name":"c"}],"younger":{"a":null,"b":[1152921504606846976,0.5,"<&>"]}}}`
	if object.text != want || object.Spec.Template.Spec.Containers[0].Image != "i" {
		t.Errorf("text %s, want %s; decoded %+v", object.text, want, object.Spec.Template)
	}
	if diff := cmp.Diff([]string{"warning: spec.template.spec.younger: unknown field"}, sentences(got)); diff != "" {
		t.Error(diff)
	}
	if got := readStamp()(map[string]any{}); got.Object == nil || got.Object.(*stamp).text != "" {
		t.Errorf("without a template: %v", sentences(got))
	}
}

// TestNoContainers: an API server without minItems in the schema stores an empty list of containers, and refuses every pod.
func TestNoContainers(t *testing.T) {
	for _, spec := range []map[string]any{{"containers": []any{}}, {"containers": nil}, {}} {
		got := readStamp()(map[string]any{"template": map[string]any{"spec": spec}})
		if said := strings.Join(sentences(got), "; "); got.Object != nil || !strings.HasPrefix(said, "spec.template.spec.containers: ") {
			t.Errorf("%v: object %v, said %q", spec, got.Object, said)
		}
	}
}

// TestOneHint: the order of keys, which differs each time, does not change the messages.
func TestOneHint(t *testing.T) {
	said := map[string]bool{}
	read := readStamp()
	for range 200 {
		got := read(map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i",
			"livenessProbe": map[string]any{"httpget": map[string]any{"port": int64(80)}, "tcpsocket": map[string]any{"port": int64(80)}}}}}}})
		said[strings.Join(sentences(got), "\n")] = true
	}
	if len(said) != 1 {
		t.Errorf("the same object has %d answers: %v", len(said), said)
	}
}

// TestSlim: values that Slim removes exist until an object is accepted, and nothing is removed from a rejected object.
func TestSlim(t *testing.T) {
	checked, cut := 0, 0
	read := Typed[stamp](gadgets(), Slim(func(s *stamp) {
		if cut++; s.Name == "odd" {
			panic("boom")
		}
		s.Spec.Template.Spec = corev1.PodSpec{}
	}), Validate(func(s *stamp) (problems []schema.Problem) {
		checked += len(s.Spec.Template.Spec.Containers)
		if s.Spec.Template.Spec.NodeName != "" {
			problems = []schema.Problem{{Code: schema.InvalidValue, Path: "spec.template.spec.nodeName"}}
		}
		return problems
	}))
	got := read(gadgetIn(templateWith("hostname", "h")))
	if object, ok := got.Object.(*stamp); !ok || object.Name != "g" || !cmp.Equal(object.Spec.Template.Spec, corev1.PodSpec{}) || checked != 1 || cut != 1 {
		t.Errorf("%+v; %d containers checked, cut %d times", got, checked, cut)
	}
	if got := read(gadgetIn(templateWith("nodeName", "n"))); got.Rejection == nil || checked != 2 || cut != 1 {
		t.Errorf("%+v; %d containers checked, cut %d times", got, checked, cut)
	}
	got = read(gadgetIn(templateWith("hostname", "h"), map[string]any{"metadata": map[string]any{"name": "odd"}}))
	if got.Object != nil || got.Rejection == nil || got.Panic == nil || got.Panic.Cause != "boom" {
		t.Errorf("of a function that panics: %+v", got)
	}
}

// TestVerbatimIsChecked: unknown fields are JSON of bounded depth, or a problem. A problem elsewhere means that nothing is kept.
func TestVerbatimIsChecked(t *testing.T) {
	deep := any("x")
	for range 100 {
		deep = []any{deep}
	}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"too deep":  {deep, "spec.template.spec.younger: found more than 64 levels, must be nested less deeply"},
		"no JSON":   {map[string]any{"f": func() {}}, "spec.template.spec.younger.f: "},
		"not known": {struct{}{}, "spec.template.spec.younger: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := readStamp()(templateWith("younger", c.value)); got.Rejection == nil || !strings.HasPrefix(got.Rejection.Problems[0].String(), c.want) {
				t.Errorf("%v, want %s", sentences(got), c.want)
			}
		})
	}
	if got := readStamp()(templateWith("hostname", int64(7))); got.Rejection == nil || got.Object != nil {
		t.Errorf("%v", sentences(got))
	}
}
