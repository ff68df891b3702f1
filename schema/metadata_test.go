package schema

import (
	"fmt"
	"testing"
)

// TestMetadataOfChildren: the metadata of a plan is added to owner references and labels of a child, and to the preconditions of a
// patch.
func TestMetadataOfChildren(t *testing.T) {
	owner := &Head{Resource: Resource{Group: "g", Version: "v1", Kind: "Foo", Plural: "foos"}}
	owner.Meta.Name, owner.Meta.Namespace, owner.Meta.UID = "a", "ns", "u"
	child := &Child{Namespace: "ns", Name: "c", UID: "x", ResourceVersion: "7"}
	const reference = `"ownerReferences":[{"apiVersion":"g/v1","kind":"Foo","name":"a","uid":"u","controller":true,"blockOwnerDeletion":true}]`
	for name, c := range map[string]struct{ fields, created, patched any }{
		"none": {map[string]any{"data": 1},
			`{"apiVersion":"v1","data":1,"kind":"ConfigMap","metadata":{"labels":{"app":"a"},"name":"c","namespace":"ns",` + reference + `}}`,
			`{"data":1,"metadata":{"resourceVersion":"7","uid":"x"}}`},
		"labels and annotations": {map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "b", "tier": "c"}, "annotations": map[string]string{"n": "o"}}},
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"n":"o"},"labels":{"app":"a","tier":"c"},"name":"c","namespace":"ns",` + reference + `}}`,
			`{"metadata":{"annotations":{"n":"o"},"labels":{"app":"b","tier":"c"},"resourceVersion":"7","uid":"x"}}`},
		"another name": {map[string]any{"metadata": map[string]any{"name": "b"}}, nil, nil},
		"another type": {map[string]any{"metadata": map[string]string{"labels": "b"}}, nil, nil},
		"kind":         {map[string]any{"kind": "Secret"}, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"app":"a"},"name":"c","namespace":"ns",` + reference + `}}`, `{"kind":"Secret","metadata":{"resourceVersion":"7","uid":"x"}}`},
	} {
		body := func(of func(map[string]any) []byte) (text any) {
			defer func() {
				if recover() != nil {
					text = nil
				}
			}()
			return string(of(c.fields.(map[string]any)))
		}
		created := body(func(fields map[string]any) []byte {
			return NewChild(owner, ConfigMaps(), "ns", "c", map[string]string{"app": "a"}, "", fields).Body
		})
		patched := body(func(fields map[string]any) []byte { return child.Patch(ConfigMaps(), fields).Body })
		if fmt.Sprint(created, patched) != fmt.Sprint(c.created, c.patched) {
			t.Errorf("%s:\n%v\n%v\nwant\n%v\n%v", name, created, patched, c.created, c.patched)
		}
	}
}
