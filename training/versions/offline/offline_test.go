package offline

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"stoic/schema"
	"stoic/test/golden"
	"stoic/test/untyped"
	"stoic/training/convert"
	"stoic/training/kinds"
)

var update = flag.Bool("update", false, "write the golden files")

// optionsOf returns the options in the name of a case: "... per node 8".
func optionsOf(name string) Options {
	if strings.HasSuffix(name, "per node 8") {
		return Options{GPUsPerNode: 8}
	}
	return Options{}
}

// TestGolden converts NAME.yaml. The converter of v1 must accept the result without unknown fields, and a second conversion must
// change nothing.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	cases := golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		raw := untyped.Parse(t, archive[name+".yaml"]).Object
		got, problems := Convert(raw, optionsOf(name))
		if seen[got.Form] = true; got.Form != "" && !strings.HasPrefix(name, "no spec") {
			accepted(t, got.Object)
		}
		return describe(t, got, problems)
	})
	if cases < 30 {
		t.Errorf("%d cases", cases)
	}
	for _, form := range Forms() {
		if !seen[form] {
			t.Errorf("no case of a %s", form)
		}
	}
}

func accepted(t *testing.T, object map[string]any) {
	t.Helper()
	for _, kind := range kinds.All() {
		if kind.Name != object["kind"] {
			continue
		}
		r := convert.Object(kind, &unstructured.Unstructured{Object: object})
		if r.Rejection != nil {
			t.Errorf("the operator rejects it: %v", r.Rejection.Problems)
		}
		for _, w := range r.Warnings {
			// The others are in the manifest: a name and a type of a pod in its template, a policy that no field of old versions was.
			if w.Code == schema.UnknownField && !strings.Contains(w.Path, ".template.") || w.Code == schema.Conflict {
				t.Errorf("the operator warns: %s", w)
			}
		}
		return
	}
	t.Errorf("no kind %v", object["kind"])
}

func describe(t *testing.T, r Result, problems []schema.Problem) string {
	t.Helper()
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "# error: %s [%s]\n", p, p.Code)
	}
	if len(problems) > 0 {
		return b.String()
	}
	if r.Form == "" {
		return "# as it was\n"
	}
	fmt.Fprintf(&b, "# %s\n", r.Form)
	for _, m := range r.Moved {
		fmt.Fprintf(&b, "# moved: %s to %s\n", m.From, m.To)
	}
	for _, n := range r.Lost {
		fmt.Fprintf(&b, "# lost: %s: %s\n", n.Path, n.Text)
	}
	for _, n := range r.Filled {
		fmt.Fprintf(&b, "# filled: %s: %s\n", n.Path, n.Text)
	}
	text, err := yaml.Marshal(r.Object)
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + string(text)
}

// TestTotal: every object has a result, which is deterministic and shares nothing with the object. The result is in the current
// form, so that a second conversion changes nothing.
func TestTotal(t *testing.T) {
	keys := []string{"spec", "metadata", "annotations", "status", "runPolicy", "RunPolicy", "backoffLimit", "BackoffLimit", "cleanPodPolicy", "activeDeadlineSeconds", "gpus", "processingUnits",
		"gpusPerNode", "processingUnitsPerNode", "processingResourceType", "replicas", "template", "containers", "resources", "limits", "requests", "nvidia.com/gpu", "cpu", "launcherResources",
		"mpiReplicaSpecs", "Launcher", "Worker", "Master", "restartPolicy", "xgbReplicaSpecs", "name", "managedBy", "training.kubeflow.org/conversion", "slotsPerWorker", "mpiDistribution", "x"}
	leaves := []any{nil, "", "x", "Never", "cpu", "xgboostjob", "xgboost", "kubeflow.org/mpi-operator", "4", `{"v1":{"lost":{"spec":{"x":1}}}}`, int64(0), int64(-1), int64(3), int64(16), int64(1 << 40), 1.5, 8.0, 1e300, true}
	var draw func(t *rapid.T, depth int) any
	draw = func(t *rapid.T, depth int) any {
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case depth > 6 || kind < 3:
			return rapid.SampledFrom(leaves).Draw(t, "leaf")
		case kind < 5:
			list := []any{}
			for range rapid.IntRange(0, 2).Draw(t, "items") {
				list = append(list, draw(t, depth+1))
			}
			return list
		}
		object := map[string]any{}
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			object[rapid.SampledFrom(keys).Draw(t, "key")] = draw(t, depth+1)
		}
		return object
	}
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{"metadata": draw(t, 0), "spec": draw(t, 0), "status": draw(t, 4)}
		form := rapid.SampledFrom(forms()).Draw(t, "form")
		object["kind"], object["apiVersion"] = form.kind, form.group+"/"+rapid.SampledFrom(form.versions).Draw(t, "version")
		if rapid.Bool().Draw(t, "template") {
			if spec, ok := object["spec"].(map[string]any); ok {
				spec["template"] = map[string]any{"spec": map[string]any{"containers": []any{draw(t, 3)}}}
			}
		}
		total(t, object, Options{GPUsPerNode: rapid.SampledFrom([]int64{0, 1, 8}).Draw(t, "gpus")})
	})
}

func total(t rapid.TB, object map[string]any, o Options) {
	t.Helper()
	same := untyped.Clone(object)
	got, problems := Convert(object, o)
	if !untyped.Equal(object, same) {
		t.Fatalf("changed its input\nfrom %v\nto   %v", same, object)
	}
	if (got.Object == nil) != (len(problems) > 0) {
		t.Fatalf("object %v, problems %v", got.Object, problems)
	}
	if len(problems) > 0 {
		untyped.CheckProblems(t, problems, 10)
		return
	}
	if got.Form == "" {
		return
	}
	if got.Object["apiVersion"] != "kubeflow.org/v1" {
		t.Fatalf("converted to %v", got.Object["apiVersion"])
	}
	before := untyped.Clone(got.Object)
	untyped.Destroy(same)
	untyped.Destroy(object)
	if !untyped.Equal(before, got.Object) {
		t.Fatal("kept something of its input")
	}
	again, problems := Convert(got.Object, o)
	if again.Form != "" || len(problems) > 0 {
		t.Fatalf("converted again: %+v, %v", again, problems)
	}
}

// TestTables: the tables of versions that no cluster serves are valid.
func TestTables(t *testing.T) {
	kind := pyTorchJob()
	if _, err := kind.Converter(); err != nil {
		t.Error(err)
	}
}
