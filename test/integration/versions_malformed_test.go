package integration

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"stoic/convert/versions"
	"stoic/test/faults/mutation"
)

// write creates objects in each version: a well-formed one, and mutations of it. It returns them as they were written, by name.
func (k *servedKind) write(t *testing.T, shipped *crdv1.CustomResourceDefinition) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for i, version := range k.all() {
		valid := map[string]any{"metadata": map[string]any{}, "spec": k.spec(t, version),
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}, "replicaStatuses": map[string]any{"Worker": map[string]any{"active": int64(1)}}}}
		objects := map[string]map[string]any{"valid-" + version: valid}
		for n, m := range mutation.Sample(mutation.All(valid, shipped.Spec.Versions[i].Schema.OpenAPIV3Schema), 2*malformedPerVersion(), uint64(i)) {
			objects[fmt.Sprintf("malformed-%s-%d", version, n)] = m.Apply(valid)
		}
		stored := 0
		for name, object := range objects {
			u := k.object(object, version, name)
			if u == nil {
				continue
			}
			created, err := k.resource(version).Create(t.Context(), u, metav1.CreateOptions{})
			if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) { // of metadata, which no CRD can open
				continue
			}
			if err != nil {
				t.Fatalf("create %s: %v", name, err)
			}
			annotations := created.GetAnnotations() // API servers omit empty ones
			delete(annotations, k.Annotation)
			u.SetAnnotations(annotations)
			all[name] = u
			stored++
		}
		if stored <= malformedPerVersion() || all["valid-"+version] == nil {
			t.Fatalf("%d of %d objects were stored as %s", stored, len(objects), version)
		}
	}
	return all
}

func (k *servedKind) spec(t *testing.T, version string) (spec map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(k.specs[version]), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// object returns one as a client would send it; nil if no client can, because it has no JSON form.
func (k *servedKind) object(object map[string]any, version, name string) *unstructured.Unstructured {
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	var sent map[string]any
	if utiljson.Unmarshal(text, &sent) != nil {
		return nil
	}
	meta, isObject := sent["metadata"].(map[string]any)
	if !isObject {
		return nil
	}
	delete(meta, "ownerReferences") // an object whose owner does not exist is garbage-collected
	u := &unstructured.Unstructured{Object: sent}
	u.SetAPIVersion(k.Group + "/" + version)
	u.SetKind(k.Name)
	u.SetName(name)
	return u
}

// readAll lists the objects in each version, and compares them with the tables.
func (k *servedKind) readAll(t *testing.T, written map[string]*unstructured.Unstructured) {
	t.Helper()
	c, err := k.Converter()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range k.all() {
		list, err := k.resource(version).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != len(written) {
			t.Fatalf("%d of %d objects are listed as %s: %v", len(list.Items), len(written), version, err)
		}
		for _, got := range list.Items {
			k.compare(t, c, written[got.GetName()], &got, version)
		}
	}
}

// compare compares spec and status with the conversion tables for an object that is stored in the hub, and, in the version that
// it was written in, with what was written.
func (k *servedKind) compare(t *testing.T, c *versions.Converter, written, got *unstructured.Unstructured, version string) {
	t.Helper()
	if got.GetAPIVersion() != k.Group+"/"+version {
		t.Errorf("%s: listed %s as %s", got.GetName(), got.GetAPIVersion(), version)
	}
	hub, err := c.Convert(written.Object, k.Hub)
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Convert(hub.Object, version)
	if err != nil {
		t.Fatal(err)
	}
	if written.GetAPIVersion() == k.Group+"/"+version && hub.Outcome != versions.NotKept {
		want.Object = written.Object
	}
	for _, part := range []string{"spec", "status"} {
		// Integers that a JSON decoder makes of floats, and the reverse, count as equal.
		if diff := cmp.Diff(jsonText(t, want.Object[part]), jsonText(t, got.Object[part])); diff != "" {
			t.Errorf("%s, written as %s, listed as %s: %s (-want +got):\n%s", got.GetName(), written.GetAPIVersion(), version, part, diff)
		}
	}
}

func jsonText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
