package convert

import (
	"flag"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/convert/verdict"
	"stoic/test/golden"
	"stoic/test/untyped"
)

var update = flag.Bool("update", false, "write what the golden files should say")

func checkStructural(s *Schema, raw map[string]any) *Checked {
	return s.Check(&unstructured.Unstructured{Object: raw})
}

// TestStructuralGolden checks every NAME.yaml in testdata/structural/*.txtar by the schema in the same archive and compares the
// result with NAME.want. The API server's code accepts what is well-formed, and refuses all else.
func TestStructuralGolden(t *testing.T) {
	golden.Run(t, "testdata/structural/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		s, judge := schemaIn(t, string(archive["schema.yaml"]))
		u := untyped.Parse(t, archive[name+".yaml"])
		checked := checkStructural(s, u.Object)
		if refusal := describeRefusals(judge.Judge(u.Object)); refusal != "" && len(checked.Problems) == 0 {
			t.Errorf("the API server says: %s", refusal)
		}
		return describeChecked(checked)
	}, "schema.yaml")
}

// schemaIn reads a schema from YAML.
func schemaIn(t testing.TB, text string) (*Schema, *verdict.Judge) {
	t.Helper()
	return subresourcesIn(t, text, nil)
}

// subresourcesIn is schemaIn for a resource that has subresources.
func subresourcesIn(t testing.TB, text string, sub *apiextensionsv1.CustomResourceSubresources) (*Schema, *verdict.Judge) {
	t.Helper()
	root := &props{}
	if err := yaml.UnmarshalStrict([]byte(text), root); err != nil {
		t.Fatal(err)
	}
	return bothOf(t, root, sub)
}
