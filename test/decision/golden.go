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
	"stoic/convert"
	"stoic/schema"
)

// Clock returns the time of every decision.
func Clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Golden reads from each archive of testdata an object and what it owns, and compares the plan; with update it writes the plan. The first
// file is the object. A file called now is the time, and one called refused lists what the API server has refused to create. A status in
// a plan must be written only once: it is not written again, and neither is another one a minute later, unless something is due until then.
func Golden(t *testing.T, watches []controller.Watch, least int, update bool) {
	archives(t, least, func(t *testing.T, file string, archive *txtar.Archive) {
		in := read(t, archive)
		after := func(passed time.Duration) func(*unstructured.Unstructured) schema.Plan {
			return func(u *unstructured.Unstructured) schema.Plan {
				return decide(t, watches, u, in.refused, in.now.Add(passed), in.others)
			}
		}
		plan := after(0)(in.object)
		compare(t, file, archive, plan, update)
		writtenOnce(t, in.object, plan, after(0))
		isDone := len(plan.Delete)+len(plan.Patch)+len(plan.Create) == 0
		if isDone && (plan.Requeue > 2*time.Minute || plan.Requeue == 0) {
			writtenOnce(t, in.object, plan, after(time.Minute))
		}
	})
}

// Decide combines an object and what it owns among others as the engine does, and returns the plan.
func Decide(t *testing.T, watches []controller.Watch, u *unstructured.Unstructured, others ...*unstructured.Unstructured) schema.Plan {
	t.Helper()
	return decide(t, watches, u, nil, Clock(), others)
}

func decide(t *testing.T, watches []controller.Watch, u *unstructured.Unstructured, refused []schema.Refusal, now time.Time, others []*unstructured.Unstructured) schema.Plan {
	t.Helper()
	i := slices.IndexFunc(watches, func(w controller.Watch) bool { return w.Resource.Kind == u.GetKind() })
	if i < 0 {
		t.Fatalf("no watch of %s", u.GetKind())
	}
	result := watches[i].Convert(u)
	seen := schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Refused: refused, Now: now, KeepsGeneration: true}
	for _, owned := range watches[i].Owns {
		seen.Children = append(seen.Children, childrenOf(t, owned, result, others))
	}
	return watches[i].Decide(seen)
}

// childrenOf returns what the engine observes of an owned resource for one object.
func childrenOf(t *testing.T, owned *controller.Owned, result *convert.Result, all []*unstructured.Unstructured) schema.Children {
	t.Helper()
	selector, err := labels.Parse(owned.Selector)
	if err != nil {
		t.Fatalf("the selector of %s: %v", owned.Resource.Plural, err)
	}
	var claims labels.Selector
	if owned.Claims != nil && result.Object != nil {
		claims = owned.Claims(result)
	}
	children := schema.Children{Resource: owned.Resource}
	for _, d := range all {
		if d.GetKind() != owned.Resource.Kind || !selector.Matches(labels.Set(d.GetLabels())) {
			continue
		}
		c := schema.Candidate{Labels: schema.LabelsOf(d.GetLabels()), Owners: d.GetOwnerReferences(), Child: schema.Child{Namespace: d.GetNamespace(), Name: d.GetName(),
			UID: d.GetUID(), ResourceVersion: d.GetResourceVersion(), Created: d.GetCreationTimestamp().Time, Deleting: d.GetDeletionTimestamp() != nil, Object: owned.Slim(d)}}
		owner := metav1.GetControllerOf(d)
		isOurs := owner != nil && owner.UID == result.Meta.UID && result.Head.Reaches(d.GetNamespace()) ||
			owned.OwnerAnnotation != "" && d.GetAnnotations()[owned.OwnerAnnotation] == schema.OwnerText(result.Head)
		isClaimed := claims != nil && claims.Matches(c.Labels)
		switch {
		case isOurs && (isClaimed || claims == nil):
			children.Items = append(children.Items, c.Child)
		case isOurs:
			children.Unclaimed = append(children.Unclaimed, c)
		case owner == nil && isClaimed && !c.Deleting:
			children.Orphans = append(children.Orphans, c)
		}
	}
	slices.SortFunc(children.Orphans, func(a, b schema.Candidate) int { return strings.Compare(a.Name, b.Name) })
	return children
}

// archives tests with each archive of testdata; there must be at least so many.
func archives(t *testing.T, least int, test func(t *testing.T, file string, archive *txtar.Archive)) {
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

// writtenOnce: if a plan writes a status, a decision on the object with that status writes none.
func writtenOnce(t *testing.T, object *unstructured.Unstructured, plan schema.Plan, decide func(*unstructured.Unstructured) schema.Plan) {
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
		t.Errorf("a status that was written is written again: %s", printPlan(t, again))
	}
}

// input is what an archive says.
type input struct {
	object  *unstructured.Unstructured
	others  []*unstructured.Unstructured
	refused []schema.Refusal
	now     time.Time
}

func read(t *testing.T, archive *txtar.Archive) input {
	t.Helper()
	in := input{now: Clock()}
	for _, part := range archive.Files {
		u := &unstructured.Unstructured{}
		var err error
		switch part.Name {
		case "plan":
			continue
		case "now":
			in.now, err = time.Parse(time.RFC3339, strings.TrimSpace(string(part.Data)))
		case "refused":
			err = yaml.Unmarshal(part.Data, &in.refused)
			for i := range in.refused {
				in.refused[i].Since = in.now
			}
		default:
			err = readYAML(part.Data, &u.Object)
			if in.object == nil {
				in.object = u
			} else {
				in.others = append(in.others, u)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", part.Name, err)
		}
	}
	if in.object == nil {
		t.Fatal("an archive without an object")
	}
	return in
}

// readYAML reads YAML with the types of an API server's answers: whole numbers are int64.
func readYAML(text []byte, into *map[string]any) error {
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// compare compares a plan with that of the archive, which is its last file; with update it writes the file.
func compare(t *testing.T, file string, archive *txtar.Archive, plan schema.Plan, update bool) {
	t.Helper()
	got := []byte(printPlan(t, plan))
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

// printPlan formats a plan with one line for each write, in their order.
func printPlan(t *testing.T, p schema.Plan) string {
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
