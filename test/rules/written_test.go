package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWrittenShape: the CRDs of training-operator v1.9.4 and mpi-operator v0.8 are written by hand from the description of the
// contract. Ours have the same fields with the same types and defaults. Ours may differ in rules about values, which other tests
// cover, in unknown fields of pods, which they keep, and in fields of the status that are new or never set.
func TestWrittenShape(t *testing.T) {
	pairs := map[string]string{"deploy/mpijob-v2beta1/mpijobs.yaml": "mpijobs-v2beta1-v0.8"}
	for _, plural := range []string{"tfjobs", "pytorchjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mpijobs"} {
		pairs["deploy/crd/"+plural+".yaml"] = plural + "-v1.9.4"
	}
	for deployed, name := range pairs {
		written := shapeOf(t, "test/fixtures/"+name+"-written.yaml")
		ours := shapeOf(t, deployed)
		if len(written) < 80 {
			t.Errorf("%s: only %d lines are compared", name, len(written))
		}
		for path, value := range written {
			if ours[path] != value {
				t.Errorf("%s: %s is %q as written, and %q in ours", name, path, value, ours[path])
			}
		}
		for path, value := range ours {
			if _, found := written[path]; !found && !strings.Contains(path, "/template/properties/spec/") {
				t.Errorf("%s: %s is %q in ours, and was not there", name, path, value)
			}
		}
	}
}

// notCompared lists keywords of schemas that are rules about values, texts, or hints to those who merge lists; and fields of ours.
var notCompared = []string{"description", "enum", "minimum", "maximum", "x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields",
	"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"}

var ownFields = []string{"observedGeneration", "labelSelector"}

// shapeOf returns what the only version of a CRD declares of its objects, by path.
func shapeOf(t *testing.T, file string) map[string]string {
	t.Helper()
	var crd struct {
		Spec struct{ Versions []map[string]any }
	}
	if err := yaml.Unmarshal([]byte(read(t, file)), &crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("%s: %d versions", file, len(crd.Spec.Versions))
	}
	shape := map[string]string{}
	flatten(crd.Spec.Versions[0]["schema"], "", shape)
	return shape
}

// flatten records the values below a node by their paths.
func flatten(node any, path string, shape map[string]string) {
	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			isField := strings.HasSuffix(path, "/properties")
			if isField && !slices.Contains(ownFields, key) || !isField && !slices.Contains(notCompared, key) {
				flatten(value, path+"/"+key, shape)
			}
		}
	case []any:
		var values []string
		for _, value := range node {
			values = append(values, fmt.Sprint(value))
		}
		slices.Sort(values)
		shape[path] = strings.Join(values, " ")
	default:
		shape[path] = fmt.Sprint(node)
	}
}
