package foobar

import (
	"flag"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/schema"
	"stoic/test/decision"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// clock returns the time of every decision in these tests.
func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// watchOf returns the Watch of an object's resource.
func watchOf(t interface{ Fatalf(string, ...any) }, u *unstructured.Unstructured) controller.Watch {
	for _, w := range Watches() {
		if w.Resource.Kind == u.GetKind() {
			return w
		}
	}
	t.Fatalf("no watch of %s", u.GetKind())
	return controller.Watch{}
}

// observe returns an object with the ConfigMaps that it owns, like the engine.
func observe(w controller.Watch, u *unstructured.Unstructured, configMaps []*unstructured.Unstructured) schema.Observed {
	result := w.Convert(u)
	children := schema.Children{Resource: schema.ConfigMaps()}
	for _, c := range configMaps {
		ours := c.GetAnnotations()[owner] == schema.OwnerText(result.Head)
		for _, o := range c.GetOwnerReferences() {
			ours = ours || o.UID == result.Meta.UID && result.Head.Reaches(c.GetNamespace())
		}
		if ours && c.GetLabels()[label] == "foobar" {
			children.Items = append(children.Items, schema.Child{Namespace: c.GetNamespace(), Name: c.GetName(), UID: c.GetUID(), ResourceVersion: c.GetResourceVersion(),
				Created: c.GetCreationTimestamp().Time, Deleting: c.GetDeletionTimestamp() != nil, Object: slim(c)})
		}
	}
	return schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Children: []schema.Children{children}, Now: clock(), KeepsGeneration: true}
}

// TestDecide reads an object and its ConfigMaps from each archive and compares the plan. With the status that the plan writes,
// the same decision writes no status.
func TestDecide(t *testing.T) {
	decision.Archives(t, 12, func(t *testing.T, file string, archive *txtar.Archive) {
		var object *unstructured.Unstructured
		var configMaps []*unstructured.Unstructured
		var refused []schema.Refusal
		for _, part := range archive.Files {
			if part.Name == "plan" {
				continue
			}
			if part.Name == "refused" {
				if err := yaml.Unmarshal(part.Data, &refused); err != nil {
					t.Fatal(err)
				}
				continue
			}
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(part.Data, &u.Object); err != nil {
				t.Fatalf("%s: %v", part.Name, err)
			}
			if u.GetKind() == "ConfigMap" {
				configMaps = append(configMaps, u)
			} else {
				object = u
			}
		}
		decide := func(u *unstructured.Unstructured) schema.Plan {
			w := watchOf(t, u)
			seen := observe(w, u, configMaps)
			seen.Refused = refused
			return w.Decide(seen)
		}
		plan := decide(object)
		decision.Compare(t, file, archive, plan, *update)
		decision.WrittenOnce(t, object, plan, decide)
	})
}
