package mydeployment

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/schema"
	"stoic/test/decision"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// clock returns the time of every decision in these tests.
func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// observe returns a MyDeployment with its own pods and the selected orphans, like the engine.
func observe(w controller.Watch, u *unstructured.Unstructured, pods []*unstructured.Unstructured, now time.Time) schema.Observed {
	result := w.Convert(u)
	selector := labels.Selector(nil)
	if result.Object != nil {
		selector = w.Owns[0].Claims(result)
	}
	children := schema.Children{Resource: schema.Pods()}
	for _, p := range pods {
		c := schema.Candidate{Labels: schema.LabelsOf(p.GetLabels()), Owners: p.GetOwnerReferences(), Child: schema.Child{Namespace: p.GetNamespace(), Name: p.GetName(), UID: p.GetUID(), ResourceVersion: p.GetResourceVersion(),
			Created: p.GetCreationTimestamp().Time, Deleting: p.GetDeletionTimestamp() != nil, Object: w.Owns[0].Slim(p)}}
		mine, controlled := false, false
		for _, o := range c.Owners {
			controlled = controlled || o.Controller != nil && *o.Controller
			mine = mine || controlled && o.UID == result.Meta.UID
		}
		matches := selector != nil && selector.Matches(c.Labels)
		switch {
		case mine && (matches || selector == nil):
			children.Items = append(children.Items, c.Child)
		case mine:
			children.Unclaimed = append(children.Unclaimed, c)
		case !controlled && matches && !c.Deleting:
			children.Orphans = append(children.Orphans, c)
		}
	}
	slices.SortFunc(children.Orphans, func(a, b schema.Candidate) int { return strings.Compare(a.Name, b.Name) }) // as the engine has them
	return schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Children: []schema.Children{children}, Now: now, KeepsGeneration: true}
}

// read parses the object and the pods of an archive. {hash} in a pod is the hash of the object's template.
func read(t *testing.T, archive *txtar.Archive) (object *unstructured.Unstructured, pods []*unstructured.Unstructured, refused []schema.Refusal) {
	t.Helper()
	hash := ""
	for _, part := range archive.Files {
		switch {
		case part.Name == "plan":
			continue
		case part.Name == "refused":
			if err := yaml.Unmarshal(part.Data, &refused); err != nil {
				t.Fatal(err)
			}
			for i := range refused {
				refused[i].Resource, refused[i].Name = schema.Pods(), strings.ReplaceAll(refused[i].Name, "{hash}", hash)
			}
			continue
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(bytes.ReplaceAll(part.Data, []byte("{hash}"), []byte(hash)), &u.Object); err != nil {
			t.Fatalf("%s: %v", part.Name, err)
		}
		if u.GetKind() == "Pod" {
			pods = append(pods, u)
			continue
		}
		object = u
		if d, ok := Watches()[0].Convert(u).Object.(*MyDeployment); ok {
			hash = d.Spec.Hash
		}
	}
	return object, pods, refused
}

// TestDecide reads an object and pods from each archive and compares the plan. With the status that the plan writes, the same
// decision writes no status.
func TestDecide(t *testing.T) {
	w := Watches()[0]
	decision.Archives(t, 20, func(t *testing.T, file string, archive *txtar.Archive) {
		object, pods, refused := read(t, archive)
		decide := func(u *unstructured.Unstructured) schema.Plan {
			seen := observe(w, u, pods, clock())
			seen.Refused = refused
			return w.Decide(seen)
		}
		plan := decide(object)
		decision.Compare(t, file, archive, plan, *update)
		decision.WrittenOnce(t, object, plan, decide)
	})
}
