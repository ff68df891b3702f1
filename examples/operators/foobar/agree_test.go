package foobar

import (
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/convert"
)

// TestMarkersAgreeWithTags: the API server and the operator have the same rules.
func TestMarkersAgreeWithTags(t *testing.T) {
	read := func(name string) *apiextensionsv1.CustomResourceDefinition {
		text, err := os.ReadFile("deploy/crd/" + name + ".yaml")
		crd := new(apiextensionsv1.CustomResourceDefinition)
		if err == nil {
			err = yaml.UnmarshalStrict(text, crd)
		}
		if err != nil {
			t.Fatal(err)
		}
		return crd
	}
	for _, d := range append(convert.Disagreements[FooBar](read("foobars"), "v1alpha1"), convert.Disagreements[ClusterFooBar](read("clusterfoobars"), "v1alpha1")...) {
		t.Error(d)
	}
}
