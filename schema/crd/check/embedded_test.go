package check

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestIsEmbedded: a type of Kubernetes is known in older and newer versions of it, and an author's type with some of its fields is not one.
func TestIsEmbedded(t *testing.T) {
	pod := map[reflect.Type]map[string]bool{}
	collectTypes(reflect.TypeOf(corev1.PodSpec{}), pod)
	fields := slices.Sorted(maps.Keys(pod[reflect.TypeOf(corev1.PodSpec{})]))
	volume := slices.Sorted(maps.Keys(pod[reflect.TypeOf(corev1.Volume{})]))
	for name, test := range map[string]struct {
		fields []string
		want   bool
	}{
		"a pod":                     {fields, true},
		"an older pod":              {fields[:len(fields)-12], true},
		"a newer pod":               {append(slices.Clone(fields), "newField", "another"), true},
		"a volume":                  {volume[2:], true},
		"some fields of containers": {strings.Fields("name image command args env"), false},
		"the author's":              {strings.Fields("replicas image schedule suspend history"), false},
		"a pod and more":            {append(slices.Clone(fields[:22]), "a", "b", "c", "d", "e", "f", "g", "h"), false},
		"a pair":                    {strings.Fields("key operator"), false},
	} {
		node := &crdv1.JSONSchemaProps{Properties: map[string]crdv1.JSONSchemaProps{}}
		for _, field := range test.fields {
			node.Properties[field] = crdv1.JSONSchemaProps{}
		}
		if got := isEmbedded(node); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
