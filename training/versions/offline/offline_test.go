package offline

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		return Options{GPUsPerNode: 8, FromServed: true}
	}
	return Options{FromServed: true}
}

// TestGolden converts NAME.yaml. The converter of v1 must accept the result without unknown fields, and a second conversion must
// change nothing.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	cases := golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		raw := untyped.Parse(t, archive[name+".yaml"]).Object
		total(t, untyped.Clone(raw).(map[string]any), optionsOf(name))
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

// total checks that a conversion is deterministic and shares nothing with the object, and that the result is in the current form, so
// that a second conversion changes nothing.
func total(t testing.TB, object map[string]any, o Options) {
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
