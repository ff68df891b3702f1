package crontab

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/schema"
	"stoic/test/decision"
)

var update = flag.Bool("update", false, "write the plans of testdata anew")

// observe returns a CronTab with the Jobs that it owns, like the engine.
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

// read parses YAML into an object as an API server sends it.
func read(t *testing.T, name string, text []byte) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := decision.ReadYAML(text, &u.Object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return u
}

// TestDecide reads a time, a CronTab, its Jobs and an optional refusal from each archive, and compares the plan. With the status
// that the plan writes, another decision writes no status, neither immediately nor, if no run is due until then, later.
func TestDecide(t *testing.T) {
	w := Watches()[0]
	decision.Archives(t, 20, func(t *testing.T, file string, archive *txtar.Archive) {
		var object *unstructured.Unstructured
		var jobs []*unstructured.Unstructured
		var refused []schema.Refusal
		now := decision.Clock()
		for _, part := range archive.Files {
			switch part.Name {
			case "plan":
			case "now":
				var err error
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
		after := func(passed time.Duration) func(*unstructured.Unstructured) schema.Plan {
			return func(u *unstructured.Unstructured) schema.Plan {
				o := observe(w, u, jobs, now.Add(passed))
				o.Refused = refused
				return w.Decide(o)
			}
		}
		plan := after(0)(object)
		decision.Compare(t, file, archive, plan, *update)
		decision.WrittenOnce(t, object, plan, after(time.Second))
		if plan.Requeue > 2*time.Minute || plan.Requeue == 0 {
			decision.WrittenOnce(t, object, plan, after(time.Minute))
		}
	})
}

// TestOddJobs: decide returns a plan for any content of a Job.
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
