package controller

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/schema"
)

// The transform must answer for anything, with metadata, without an error: see the table above converting.
func TestConverting(t *testing.T) {
	kind := schema.TFJob()
	good := &convert.Result{Head: &schema.Head{Kind: kind, Meta: metav1.ObjectMeta{Name: "a"}}, Job: &schema.Job{}}
	raw := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(2)}}}
	fine := func(*schema.Kind, *unstructured.Unstructured) *convert.Result { return good }
	for _, c := range []struct {
		name      string
		converter Converter
		in        any
		same      bool
	}{
		{"an object", fine, raw, false},
		{"its own output", fine, good, true},
		{"a panic", func(*schema.Kind, *unstructured.Unstructured) *convert.Result { panic("oh") }, raw, false},
		{"no answer", func(*schema.Kind, *unstructured.Unstructured) *convert.Result { return nil }, raw, false},
		{"an answer without head", func(*schema.Kind, *unstructured.Unstructured) *convert.Result { return &convert.Result{} }, raw, false},
		{"an object without content", func(*schema.Kind, *unstructured.Unstructured) *convert.Result { panic("oh") }, &unstructured.Unstructured{}, false},
		{"nil", fine, nil, false},
		{"something else", fine, "text", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := converting(kind, c.converter)(c.in)
			if err != nil {
				t.Fatalf("error %v: the informer would never sync", err)
			}
			if c.same && out != c.in {
				t.Errorf("its own output was changed to %v", out)
			}
			result, ok := out.(*convert.Result)
			if !ok || result == nil || result.Head == nil || result.GetObjectMeta() == nil {
				t.Fatalf("%v has no metadata: the whole list would be lost", out)
			}
			if (result.Job == nil) == (result.Rejection == nil) {
				t.Error("not exactly one of job and rejection")
			}
		})
	}
	out, _ := converting(kind, func(*schema.Kind, *unstructured.Unstructured) *convert.Result { panic("oh\nno") })(raw)
	got := out.(*convert.Result)
	if got.Meta.Name != "a" || got.Meta.Namespace != "ns" || got.Meta.UID != "u" || got.Meta.ResourceVersion != "7" || got.Meta.Generation != 2 {
		t.Errorf("the object lost its name: %+v", got.Meta)
	}
	if text := got.Rejection.Problems[0].String(); text != "spec: found an object that the converter failed on: oh no, must be readable; this is a defect of the operator; please report it" {
		t.Error(text)
	}
}
