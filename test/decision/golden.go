package decision

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/schema"
)

// Clock returns the time of every decision.
func Clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Golden reads from each archive of testdata an object and what it owns, and compares the plan; with update it writes the plan. The first
// file is the object; a file called refused lists what the API server has refused to create. A status in a plan must be written only once.
func Golden(t *testing.T, watches []controller.Watch, least int, update bool) {
	Archives(t, least, func(t *testing.T, file string, archive *txtar.Archive) {
		object, others, refused := read(t, archive)
		decide := func(u *unstructured.Unstructured) schema.Plan { return Decide(t, watches, u, refused, others...) }
		plan := decide(object)
		Compare(t, file, archive, plan, update)
		WrittenOnce(t, object, plan, decide)
	})
}

// Decide combines an object and what it owns among others as the engine does, and returns the plan.
func Decide(t *testing.T, watches []controller.Watch, u *unstructured.Unstructured, refused []schema.Refusal, others ...*unstructured.Unstructured) schema.Plan {
	t.Helper()
	i := slices.IndexFunc(watches, func(w controller.Watch) bool { return w.Resource.Kind == u.GetKind() })
	if i < 0 {
		t.Fatalf("no watch of %s", u.GetKind())
	}
	result := watches[i].Convert(u)
	seen := schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Refused: refused, Now: Clock(), KeepsGeneration: true}
	for _, owned := range watches[i].Owns {
		selector, err := labels.Parse(owned.Selector)
		if err != nil {
			t.Fatalf("the selector of %s: %v", owned.Resource.Plural, err)
		}
		children := schema.Children{Resource: owned.Resource}
		for _, d := range others {
			owner := metav1.GetControllerOf(d)
			if d.GetKind() != owned.Resource.Kind || owner == nil || owner.UID != u.GetUID() || d.GetNamespace() != u.GetNamespace() || !selector.Matches(labels.Set(d.GetLabels())) {
				continue
			}
			children.Items = append(children.Items, schema.Child{Namespace: d.GetNamespace(), Name: d.GetName(), UID: d.GetUID(), ResourceVersion: d.GetResourceVersion(),
				Created: d.GetCreationTimestamp().Time, Deleting: d.GetDeletionTimestamp() != nil, Object: owned.Slim(d)})
		}
		seen.Children = append(seen.Children, children)
	}
	return watches[i].Decide(seen)
}

// Archives tests with each archive of testdata; there must be at least so many.
func Archives(t *testing.T, least int, test func(t *testing.T, file string, archive *txtar.Archive)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < least {
		t.Fatalf("%d archives, at least %d are wanted; %v", len(files), least, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			test(t, file, archive)
		})
	}
}

// WrittenOnce: if a plan writes a status, a decision on the object with that status writes none.
func WrittenOnce(t *testing.T, object *unstructured.Unstructured, plan schema.Plan, decide func(*unstructured.Unstructured) schema.Plan) {
	t.Helper()
	written := object.DeepCopy()
	if plan.Status != nil {
		raw := map[string]any{}
		if err := json.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
			t.Fatal(err)
		}
		written.Object["status"] = raw
	}
	if again := decide(written); again.Status != nil {
		t.Errorf("a status that was written is written again: %s", Print(t, again))
	}
}

// read returns the object of an archive, all other objects, and what was refused.
func read(t *testing.T, archive *txtar.Archive) (object *unstructured.Unstructured, others []*unstructured.Unstructured, refused []schema.Refusal) {
	t.Helper()
	for _, part := range archive.Files {
		switch part.Name {
		case "plan":
			continue
		case "refused":
			if err := yaml.Unmarshal(part.Data, &refused); err != nil {
				t.Fatalf("%s: %v", part.Name, err)
			}
			for i := range refused {
				refused[i].Since = Clock()
			}
			continue
		}
		u := &unstructured.Unstructured{}
		if err := ReadYAML(part.Data, &u.Object); err != nil {
			t.Fatalf("%s: %v", part.Name, err)
		}
		if object == nil {
			object = u
		} else {
			others = append(others, u)
		}
	}
	if object == nil {
		t.Fatal("an archive without an object")
	}
	return object, others, refused
}

// ReadYAML reads YAML with the types of an API server's answers: whole numbers are int64.
func ReadYAML(text []byte, into *map[string]any) error {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Compare compares a plan with that of the archive, which is its last file; with update it writes the file.
func Compare(t *testing.T, file string, archive *txtar.Archive, plan schema.Plan, update bool) {
	t.Helper()
	got := []byte(Print(t, plan))
	at := len(archive.Files) - 1
	if archive.Files[at].Name != "plan" {
		archive.Files = append(archive.Files, txtar.File{Name: "plan"})
		at++
	}
	if update {
		archive.Files[at].Data = got
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if d := diff.Diff(string(archive.Files[at].Data), string(got)); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
}

// Print formats a plan with one line for each write, in their order.
func Print(t *testing.T, p schema.Plan) string {
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
		fmt.Fprintf(&b, "delete %s %s/%s %s", d.Resource.Kind, d.Namespace, d.Name, d.UID)
		if d.ResourceVersion != "" {
			fmt.Fprintf(&b, " at version %s", d.ResourceVersion)
		}
		fmt.Fprintln(&b)
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
	if p.Requeue > 0 {
		fmt.Fprintf(&b, "look again after %v\n", p.Requeue)
	}
	return b.String()
}
