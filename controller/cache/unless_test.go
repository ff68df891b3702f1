package cache

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/schema"
)

// Of two versions of a resource one is served: both would see the same objects. The model of the API server serves one version
// of a resource, so another resource stands for the other version.
func TestAnotherVersionIsServed(t *testing.T) {
	s := newAPIServer(t)
	other := schema.Resource{Group: "example.org", Version: "v1beta1", Plural: "gadgets", Kind: "Gadget"}
	s.locked(func() { s.serve(other, true) })
	source, _ := s.source(t, "")
	source.Unless = []schema.Resource{other}
	o := NewObjects(source, widgets(), func(*unstructured.Unstructured) *convert.Result { return nil }, Handlers{Added: func(*convert.Result) {}, StatusServed: func() {}})
	if served, err := o.isServed(t.Context()); served || err != nil {
		t.Errorf("beside the other version: %t, %v", served, err)
	}
	s.locked(func() { s.Unserve("gadgets") })
	if served, err := o.isServed(t.Context()); !served || err != nil {
		t.Errorf("alone: %t, %v", served, err)
	}
}
