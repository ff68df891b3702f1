package disruption

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"stoic/test/served"
)

// settled bounds the waits for the control plane itself.
const settled = 60 * time.Second

// definitions returns the CRDs at the server where they are created: that of custom resources, if there is a separate one
// (docs/storage.md).
func (g *environment) definitions() dynamic.ResourceInterface {
	return g.defined.Resource(runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}

// versions returns the versions of a CRD; the caller may change them in place.
func versions(crd *unstructured.Unstructured) []map[string]any {
	spec, _ := crd.Object["spec"].(map[string]any)
	list, _ := spec["versions"].([]any)
	var found []map[string]any
	for _, v := range list {
		if version, ok := v.(map[string]any); ok {
			found = append(found, version)
		}
	}
	return found
}

// another adds a version to a CRD, with the schema of its first one.
func another(crd *unstructured.Unstructured, name string, storage bool) {
	version := (&unstructured.Unstructured{Object: versions(crd)[0]}).DeepCopy().Object
	version["name"], version["storage"], version["served"] = name, storage, true
	spec, _ := crd.Object["spec"].(map[string]any)
	list, _ := spec["versions"].([]any)
	spec["versions"] = append(list, version)
}

// install creates a CRD, waits until it is established and returns since when it has been.
func (g *environment) install(ctx context.Context, crd *unstructured.Unstructured) (time.Time, error) {
	if _, err := g.definitions().Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return time.Time{}, fmt.Errorf("install the CRD %s: %w", crd.GetName(), err)
	}
	_, err := g.await(ctx, settled, "the CRD "+crd.GetName()+" to be established", func(ctx context.Context) (bool, string) {
		now, err := g.definitions().Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return hasCondition(now, "Established"), "not established"
	})
	return time.Now(), err
}

func (g *environment) installFile(ctx context.Context, file string) (time.Time, error) {
	object, err := served.Definition(file)
	if err != nil {
		return time.Time{}, err
	}
	return g.install(ctx, &unstructured.Unstructured{Object: object})
}

// uninstall deletes a CRD with all its objects and waits until it no longer exists.
func (g *environment) uninstall(ctx context.Context, name string) error {
	if err := g.definitions().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the CRD %s: %w", name, err)
	}
	_, err := g.await(ctx, settled, "the CRD "+name+" to be gone", func(ctx context.Context) (bool, string) {
		_, err := g.definitions().Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	return err
}

// change edits the current state of a CRD.
func (g *environment) change(ctx context.Context, name string, edit func(*unstructured.Unstructured)) error {
	_, err := g.await(ctx, settled, "the CRD "+name+" to be changed", func(ctx context.Context) (bool, string) {
		crd, err := g.definitions().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			edit(crd)
			_, err = g.definitions().Update(ctx, crd, metav1.UpdateOptions{}) // the API server writes to it, too
		}
		return err == nil, fmt.Sprint(err)
	})
	return err
}

func hasCondition(o *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == kind && condition["status"] == "True" {
			return true
		}
	}
	return false
}
