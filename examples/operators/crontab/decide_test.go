package crontab

import (
	"bytes"
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
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/controller"
	"stoic/schema"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// observe puts a CronTab and the Jobs together as the engine does: those that name it as their owner.
func observe(w controller.Watch, u *unstructured.Unstructured, jobs []*unstructured.Unstructured, now time.Time) schema.Observed {
	result := w.Convert(u)
	children := schema.Children{Resource: schema.Jobs()}
	for _, j := range jobs {
		ours := false
		for _, o := range j.GetOwnerReferences() {
			ours = ours || o.UID == result.Meta.UID
		}
		if _, labelled := j.GetLabels()[label]; ours && labelled {
			children.Items = append(children.Items, schema.Child{Namespace: j.GetNamespace(), Name: j.GetName(), UID: j.GetUID(), ResourceVersion: j.GetResourceVersion(),
				Created: j.GetCreationTimestamp().Time, Deleting: j.GetDeletionTimestamp() != nil, Object: w.Owns[0].Slim(j)})
		}
	}
	return schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Children: []schema.Children{children}, Now: now, KeepsGeneration: true}
}

// read YAML as it comes from an API server.
func read(t *testing.T, name string, text []byte) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = kjson.Unmarshal(data, &u.Object)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return u
}

// recorded is a CronTab with the status of a plan.
func recorded(t interface{ Fatal(...any) }, u *unstructured.Unstructured, p schema.Plan) *unstructured.Unstructured {
	u = u.DeepCopy()
	if p.Status != nil {
		raw := map[string]any{}
		if err := kjson.Unmarshal(schema.JSON(p.Status), &raw); err != nil {
			t.Fatal(err)
		}
		u.Object["status"] = raw
	}
	return u
}

// TestDecide reads a time, a CronTab, its Jobs and a refusal, if there is one, from each archive, and compares the plan. On the status
// that it writes no other status is decided, whether at once or, where no run is due meanwhile, a while later.
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
			var object *unstructured.Unstructured
			var jobs []*unstructured.Unstructured
			var refused []schema.Refusal
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for _, part := range archive.Files {
				switch part.Name {
				case "plan":
				case "now":
					if now, err = time.Parse(time.RFC3339, strings.TrimSpace(string(part.Data))); err != nil {
						t.Fatal(err)
					}
				case "refused":
					refused = append(refused, schema.Refusal{Resource: schema.Jobs(), Namespace: "team", Name: strings.TrimSpace(string(part.Data)), Message: "exceeded quota"})
				default:
					u := read(t, part.Name, part.Data)
					if u.GetKind() == "Job" {
						jobs = append(jobs, u)
					} else {
						object = u
					}
				}
			}
			decide := func(u *unstructured.Unstructured, at time.Time) schema.Plan {
				o := observe(w, u, jobs, at)
				o.Refused = refused
				return w.Decide(o)
			}
			plan := decide(object, now)
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
			once := recorded(t, object, plan)
			if again := decide(once, now.Add(time.Second)); again.Status != nil {
				t.Errorf("a status that was written is written again: %s", print(t, again))
			}
			if plan.Requeue > 2*time.Minute || plan.Requeue == 0 {
				if again := decide(once, now.Add(time.Minute)); again.Status != nil {
					t.Errorf("as time passes a status is written: %s", print(t, again))
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
		fmt.Fprintf(&b, "requeue in %s\n", p.Requeue)
	}
	return b.String()
}

// TestOddJobs: whatever a Job looks like, a plan follows.
func TestOddJobs(t *testing.T) {
	w := Watches()[0]
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	u := read(t, "CronTab", []byte(`{apiVersion: stable.example.com/v1, kind: CronTab, metadata: {name: tab, namespace: team, uid: u, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {cronSpec: "@hourly", image: i}}`))
	for _, name := range []string{"tab", "tab-", "tab-x", "tab-0", "tab--1", "tab-007", "tab-+9", "tab-99999999999999999999", "tab-9223372036854775807", "tab-4223372036", "tab-29455381", "tab-29455382-1", "other-29455381"} {
		for _, rest := range []string{``, `spec: 7`, `spec: {parallelism: -1, completions: 9223372036854775807}`, `status: {conditions: [{type: Complete, status: "True", lastTransitionTime: 7}]}`, `status: []`} {
			j := read(t, name, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: "+name+", namespace: team, uid: j, labels: {"+label+": tab}, ownerReferences: [{uid: u, controller: true}]}, "+rest+"}"))
			plan := w.Decide(observe(w, u, []*unstructured.Unstructured{j}, now))
			if _, err := json.Marshal(plan.Status); err != nil || plan.Rule == "" {
				t.Errorf("%s %s: %+v, %v", name, rest, plan, err)
			}
			for _, d := range plan.Delete {
				if !strings.HasPrefix(d.Name, "tab-29") {
					t.Errorf("deletes %s, which is none of its runs", d.Name)
				}
			}
		}
	}
}
