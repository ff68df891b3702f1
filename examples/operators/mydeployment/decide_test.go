package mydeployment

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/schema"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// clock is the time of every decision in these tests.
func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// observe puts a MyDeployment and pods together as the engine does: its own, and those without controller that it selects.
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

// read the object and the pods of an archive. {hash} in a pod is the hash of the object's template.
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

// TestDecide reads an object and pods from each archive and compares the plan. One that comes true is planned for once: the same
// decision on the status that it writes writes no status.
func TestDecide(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	w := Watches()[0]
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			object, pods, refused := read(t, archive)
			seen := observe(w, object, pods, clock())
			seen.Refused = refused
			plan := w.Decide(seen)
			got := []byte(print(t, plan))
			at := len(archive.Files) - 1
			if archive.Files[at].Name != "plan" {
				archive.Files = append(archive.Files, txtar.File{Name: "plan"})
				at++
			}
			if *update {
				archive.Files[at].Data = got
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if d := diff.Diff(string(archive.Files[at].Data), string(got)); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
			if plan.Status == nil {
				return
			}
			written, raw := object.DeepCopy(), map[string]any{}
			if err := json.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
				t.Fatal(err)
			}
			written.Object["status"] = raw
			again := observe(w, written, pods, clock())
			again.Refused = refused
			if again := w.Decide(again); again.Status != nil {
				t.Errorf("a status that was written is written again: %s", print(t, again))
			}
		})
	}
}

// print writes a plan with one line for each write, in their order.
func print(t *testing.T, p schema.Plan) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "rule %s\n", p.Rule)
	if p.Status != nil {
		text, err := yaml.Marshal(p.Status)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "status\n  %s\n", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n  "))
	}
	for _, e := range p.Events {
		fmt.Fprintf(&b, "event %s %s %s: %s (%s)\n", e.Type, e.Reason, e.FieldPath, e.Message, e.Occasion)
	}
	for _, d := range p.Delete {
		fmt.Fprintf(&b, "delete %s %s/%s %s\n", d.Resource.Kind, d.Namespace, d.Name, d.UID)
	}
	for _, d := range p.Patch {
		fmt.Fprintf(&b, "patch %s %s/%s %s\n", d.Resource.Kind, d.Namespace, d.Name, d.Body)
	}
	for _, c := range p.Create {
		fmt.Fprintf(&b, "create %s %s/%s %s\n", c.Resource.Kind, c.Namespace, c.Name, c.Body)
	}
	if p.Requeue > 0 {
		fmt.Fprintf(&b, "look again in %s\n", p.Requeue)
	}
	return b.String()
}
