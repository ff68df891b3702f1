package foobar

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/schema"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// clock is the time of every decision in these tests.
func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// watchOf the resource that an object is of.
func watchOf(t interface{ Fatalf(string, ...any) }, u *unstructured.Unstructured) controller.Watch {
	for _, w := range Watches() {
		if w.Resource.Kind == u.GetKind() {
			return w
		}
	}
	t.Fatalf("no watch of %s", u.GetKind())
	return controller.Watch{}
}

// observe puts an object and the ConfigMaps together as the engine does: those that name it as their owner.
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

// TestDecide reads an object and its ConfigMaps from each archive and compares the plan. One that comes true is planned for
// once: the same decision on the status that it writes writes no status.
func TestDecide(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
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
			w := watchOf(t, object)
			seen := observe(w, object, configMaps)
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
			if plan.Status != nil {
				written := object.DeepCopy()
				raw := map[string]any{}
				if err := json.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
					t.Fatal(err)
				}
				written.Object["status"] = raw
				if again := w.Decide(observe(w, written, configMaps)); again.Status != nil {
					t.Errorf("a status that was written is written again: %s", print(t, again))
				}
			}
		})
	}
}

// print writes a plan with one line for each write, in their order.
func print(t *testing.T, p schema.Plan) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "rule %s\n", p.Rule)
	for _, f := range p.AddFinalizers {
		fmt.Fprintf(&b, "add finalizer %s\n", f)
	}
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
		fmt.Fprintf(&b, "delete %s %s/%s %s at version %s\n", d.Resource.Kind, d.Namespace, d.Name, d.UID, d.ResourceVersion)
	}
	for _, d := range p.Patch {
		fmt.Fprintf(&b, "patch %s %s/%s %s\n", d.Resource.Kind, d.Namespace, d.Name, d.Body)
	}
	for _, c := range p.Create {
		fmt.Fprintf(&b, "create %s %s/%s %s\n", c.Resource.Kind, c.Namespace, c.Name, c.Body)
	}
	for _, f := range p.RemoveFinalizers {
		fmt.Fprintf(&b, "remove finalizer %s\n", f)
	}
	return b.String()
}

// object in JSON form, of a kind.
func object(kind, namespace, name string, uid types.UID, spec any) *unstructured.Unstructured {
	meta := map[string]any{"name": name, "uid": string(uid), "generation": int64(1), "resourceVersion": "1"}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": cmp.Or(map[string]string{"ConfigMap": "v1"}[kind], group+"/v1alpha1"), "kind": kind, "metadata": meta}}
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}
