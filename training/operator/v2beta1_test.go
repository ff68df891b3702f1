package operator

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/internal/lean"
	"stoic/schema"
	"stoic/test/golden"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// TestV2Beta1 compares whole plans of MPIJobs of kubeflow.org/v2beta1: each NAME.yaml of testdata holds a job followed by
// its existing children, and NAME.want the plan. A first line may have settings of the cluster.
func TestV2Beta1(t *testing.T) {
	cases := golden.Run(t, "testdata/v2beta1/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		return planOf(t, archive[name+".yaml"])
	})
	if cases < 50 {
		t.Errorf("only %d cases", cases)
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// planOf returns the plan for the first document, with all others as its children.
func planOf(t *testing.T, text []byte) string {
	t.Helper()
	cluster, _, _ := strings.Cut(string(text), "\n")
	kind := v2beta1.MPIJob()
	if gang, ok := strings.CutPrefix(cluster, "# gang: "); ok {
		kind = kind.In(training.Cluster{Gang: training.Gang{Scheduler: gang}})
	}
	native, isNative := strings.CutPrefix(cluster, "# native: ")
	if isNative {
		kind = kind.In(training.Cluster{Gang: training.Gang{Native: true}})
	}
	if domain, ok := strings.CutPrefix(cluster, "# domain: "); ok {
		kind = kind.In(training.Cluster{Domain: domain})
	}
	documents := strings.Split(string(text), "---\n")
	job := parsed(t, documents[0])
	meta := job.Object["metadata"].(map[string]any)
	for name, value := range map[string]any{"name": "pi", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(1)} {
		if meta[name] == nil {
			meta[name] = value
		}
	}
	seen := schema.Observed{Now: now, KeepsGeneration: true}
	watch := Watches([]*training.Kind{kind}, nil)[0]
	result := watch.Convert(job)
	seen.Head, seen.Object, seen.Rejection = result.Head, result.Object, result.Rejection
	for _, owned := range watch.Owns {
		absent := training.IsNative(owned.Resource) && owned.Resource.Version != native
		seen.Children = append(seen.Children, schema.Children{Resource: owned.Resource, Unknown: absent, Absent: absent})
	}
	for i, document := range documents[1:] {
		u := parsed(t, document)
		for j, owned := range watch.Owns {
			if owned.Resource.Kind == u.GetKind() && owned.Resource.APIVersion() == u.GetAPIVersion() {
				seen.Children[j].Items = append(seen.Children[j].Items, childOf(t, u, i, owned.Slim, owned.SlimTyped))
			}
		}
	}
	return described(watch.Decide(seen))
}

func childOf(t *testing.T, u *unstructured.Unstructured, i int, slim func(*unstructured.Unstructured) any, typed func(*lean.Object) any) schema.Child {
	t.Helper()
	c := schema.Child{Namespace: "ns", Name: u.GetName(), UID: types.UID(fmt.Sprint("uid-", i+1)), ResourceVersion: "9", Created: now.Add(-time.Hour),
		Deleting: u.GetDeletionTimestamp() != nil}
	if u.GetUID() != "" {
		c.UID = u.GetUID()
	}
	if at := u.GetCreationTimestamp(); !at.IsZero() {
		c.Created = at.Time
	}
	if owners := u.GetOwnerReferences(); len(owners) > 0 {
		c.Through = owners[0].UID
	}
	switch {
	case slim != nil:
		c.Object = slim(u)
	case typed != nil:
		text, _ := json.Marshal(u.Object)
		o := &lean.Object{}
		if err := json.Unmarshal(text, o); err != nil {
			t.Fatal(err)
		}
		c.Object = typed(o)
	}
	return c
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// described returns a plan as text for review.
func described(p schema.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "rule %s\n", p.Rule)
	if status, ok := p.Status.(*training.Status); ok {
		for _, c := range status.Conditions {
			fmt.Fprintf(&b, "condition %s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
		for _, rtype := range []string{"Launcher", "Worker"} {
			if counts, ok := status.ReplicaStatuses[rtype]; ok {
				fmt.Fprintf(&b, "%s active=%d succeeded=%d failed=%d selector=%s\n", rtype, counts.Active, counts.Succeeded, counts.Failed, counts.Selector)
			}
		}
		for _, at := range []struct {
			name string
			set  bool
		}{{"startTime", status.StartTime != nil}, {"completionTime", status.CompletionTime != nil}} {
			if at.set {
				fmt.Fprintf(&b, "%s\n", at.name)
			}
		}
	}
	if p.Annotate != nil {
		fmt.Fprintf(&b, "annotate %s\n", p.Annotate.Values[training.AnnotationLedger])
	}
	for _, e := range p.Events {
		fmt.Fprintf(&b, "event %s %s: %s\n", e.Type, e.Reason, e.Message)
	}
	for _, d := range p.Delete {
		fmt.Fprintf(&b, "delete %s %s at %q\n", d.Resource.Kind, d.Name, d.ResourceVersion)
	}
	for _, c := range p.Patch {
		fmt.Fprintf(&b, "patch %s\n  %s\n", strings.TrimSpace(c.Resource.Kind+" "+c.Name+" "+c.Subresource), c.Body)
	}
	for _, c := range p.Create {
		fmt.Fprintf(&b, "create %s\n  %s\n", strings.TrimSpace(c.Resource.Kind+" "+c.Name+" "+c.Generate), c.Body)
	}
	if p.Requeue > 0 {
		fmt.Fprintf(&b, "requeue %s\n", p.Requeue)
	}
	return b.String()
}
