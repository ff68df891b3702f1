package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"stoic/cli/cluster"
	"stoic/test/operator"
	"stoic/test/served"
	"stoic/training"
)

// define creates the CRDs of a manifest, or of a folder of manifests. An unknown field is an error.
func (r *rig) define(t *testing.T, path string) {
	t.Helper()
	crds := operator.Definitions(t, r.cluster)
	for _, crd := range definitionsIn(t, path) {
		if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatalf("define %s: %v", crd.GetName(), err)
		}
		r.awaitKnown(t, crd)
	}
}

// redefine replaces existing CRDs by those of a manifest, or of a folder of manifests.
func (r *rig) redefine(t *testing.T, path string) {
	t.Helper()
	crds := operator.Definitions(t, r.cluster)
	for _, crd := range definitionsIn(t, path) {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the server writes conditions
			now, err := crds.Get(t.Context(), crd.GetName(), metav1.GetOptions{})
			if err != nil {
				return err
			}
			crd.SetResourceVersion(now.GetResourceVersion())
			_, err = crds.Update(t.Context(), crd, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
			return err
		})
		if err != nil {
			t.Fatalf("replace the definition %s: %v", crd.GetName(), err)
		}
		r.awaitKnown(t, crd)
	}
}

// awaitKnown waits until kubectl knows a kind by each of its names: the API server reads the discovery of an aggregated server
// only once a minute.
func (r *rig) awaitKnown(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	if operator.CRs() != cluster.CRsAggregated {
		return
	}
	short, _, _ := unstructured.NestedStringSlice(crd.Object, "spec", "names", "shortNames")
	for _, name := range append(short, crd.GetName()) {
		operator.Await(t, patience+time.Minute, name+" to be known", func() (bool, string) {
			out, err := r.tryKubectl(nil, "get", name, "-A")
			return err == nil, out
		})
	}
}

// patchDefinition changes the CRD of that name by a JSON patch.
func (r *rig) patchDefinition(t *testing.T, name, patch string) {
	t.Helper()
	if _, err := operator.Definitions(t, r.cluster).Patch(t.Context(), name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatalf("patch the definition %s: %v", name, err)
	}
}

// removeScale removes the scale subresource, if there is one: with it the API server rejects a spec in which it cannot read the
// number of workers.
func (r *rig) removeScale(t *testing.T, name string) {
	t.Helper()
	crd, err := operator.Definitions(t, r.cluster).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get the definition %s: %v", name, err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if _, hasScale, _ := unstructured.NestedMap(versions[0].(map[string]any), "subresources", "scale"); hasScale {
		r.patchDefinition(t, name, `[{"op":"remove","path":"/spec/versions/0/subresources/scale"}]`)
	}
}

// awaitEstablished waits until the server that has the CRD of a kind serves it.
func (r *rig) awaitEstablished(t *testing.T, kind *training.Kind) {
	t.Helper()
	crds := operator.Definitions(t, r.cluster)
	await(t, kind.Plural+" to be served", func() (bool, string) {
		crd, err := crds.Get(t.Context(), definitionOf(kind), metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		is, _ := condition(crd, "Established")
		return strings.HasPrefix(is, "True "), is
	})
}

// definitionOf returns the name of the CRD of a kind.
func definitionOf(kind *training.Kind) string { return kind.Plural + "." + kind.Group }

// definitionsIn returns the CRDs in a manifest, which has one, or in all manifests of a folder.
func definitionsIn(t *testing.T, path string) (all []*unstructured.Unstructured) {
	t.Helper()
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.yaml")); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		object, err := served.Definition(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &unstructured.Unstructured{Object: object}
		if crd.GetKind() != "CustomResourceDefinition" {
			t.Fatalf("%s has a %q", file, crd.GetKind())
		}
		all = append(all, crd)
	}
	if len(all) == 0 {
		t.Fatalf("there is no definition in %s", path)
	}
	return all
}
