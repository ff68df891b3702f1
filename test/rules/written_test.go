package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWrittenShape: the CRDs of training-operator v1.9.4 and mpi-operator v0.8 are written by hand from the description of the contract.
// Ours have the same fields with the same types and defaults. The additions of ours are listed here: rules about values, which other
// tests cover, that pods keep unknown fields, and fields that are new or never set.
func TestWrittenShape(t *testing.T) {
	deploy := filepath.Join("..", "..", "deploy")
	compareWritten(t, "mpijobs-v2beta1-v0.8", filepath.Join(deploy, "mpijob-v2beta1", "mpijobs.yaml"))
	for _, plural := range []string{"tfjobs", "pytorchjobs", "xgboostjobs", "paddlejobs", "jaxjobs", "mpijobs"} {
		compareWritten(t, plural+"-v1.9.4", filepath.Join(deploy, "crd", plural+".yaml"))
	}
}

func compareWritten(t *testing.T, name, deployed string) {
	t.Helper()
	rules := []string{"description", "enum", "minimum", "maximum", "x-kubernetes-validations", "x-kubernetes-preserve-unknown-fields"}
	written := shapeOf(t, fixtures+name+"-written.yaml", rules...)
	ours := shapeOf(t, deployed, rules...)
	if len(written) < 80 {
		t.Errorf("%s: only %d lines are compared", name, len(written))
	}
	own := func(path string) bool {
		return path == "" || path == ".status.observedGeneration:" ||
			strings.HasPrefix(path, ".status.replicaStatuses[additionalProperties].labelSelector")
	}
	ofPods := func(path string) bool { return strings.Contains(path, ".template.spec.") }
	for path, node := range written {
		if !own(path) && ours[path] != node {
			t.Errorf("%s: %s is %q as written, and %q in ours", name, path, node, ours[path])
		}
	}
	for path, node := range ours {
		if _, there := written[path]; !there && !own(path) && !ofPods(path) {
			t.Errorf("%s: %s is %q in ours, and was not there", name, path, node)
		}
	}
}

// fixtures is the folder of the CRDs that tests use.
var fixtures = filepath.Join("..", "..", "test", "fixtures") + string(filepath.Separator)

// shapeOf returns what a CRD declares of each field, by path, and of itself, without the given keywords.
func shapeOf(t *testing.T, path string, without ...string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Group, Scope string
			Names        map[string]any
			Versions     []map[string]any
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 1 {
		t.Fatalf("%s: %d versions", path, len(crd.Spec.Versions))
	}
	v := crd.Spec.Versions[0]
	said := map[string]string{"": fmt.Sprint(crd.Spec.Group, crd.Spec.Scope, crd.Spec.Names, v["name"], v["served"], v["storage"],
		v["additionalPrinterColumns"], v["subresources"])}
	schema, _ := v["schema"].(map[string]any)
	root, _ := schema["openAPIV3Schema"].(map[string]any)
	fields(root, "", said, without)
	return said
}

// fields records what a schema declares, except the merge keys of lists: these do not matter to readers.
func fields(node map[string]any, path string, said map[string]string, without []string) {
	about := map[string]any{}
	for key, value := range node {
		switch key {
		case "properties":
			for field, child := range value.(map[string]any) {
				fields(child.(map[string]any), path+"."+field, said, without)
			}
		case "items", "additionalProperties":
			fields(value.(map[string]any), path+"["+key+"]", said, without)
		case "required":
			list := value.([]any)
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
			about[key] = list
		case "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type":
		default:
			if !slices.Contains(without, key) {
				about[key] = value
			}
		}
	}
	said[path+":"] = fmt.Sprint(about)
}
