package verdict

import (
	"strings"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definition returns a small CRD; edits are applied to its text.
func definition(t *testing.T, edits ...string) *crdv1.CustomResourceDefinition {
	t.Helper()
	text := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Namespaced,
 names: {plural: foos, singular: foo, kind: Foo, listKind: FooList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
 spec: {type: object, properties: {a: {type: string, default: x}, b: {type: array, items: {type: string}}}}}}}}]}}`
	crd := &crdv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(edits...).Replace(text)), crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestDefinition: what the API server's code says of a CRD, and of a change.
func TestDefinition(t *testing.T) {
	valid := definition(t)
	for _, test := range []struct {
		name  string
		edits []string
		old   *crdv1.CustomResourceDefinition
		want  string
	}{
		{"fine", nil, nil, ""},
		{"no change", nil, valid, ""},
		{"default", []string{"default: x", "default: 7"}, nil, "properties[spec].properties[a].default: "},
		{"not structural", []string{"a: {type: string", "a: {maxLength: 3"}, nil, "properties[a].type: Required value: must not be empty for specified object fields"},
		{"rule", []string{"default: x", "x-kubernetes-validations: [{rule: 'self.nope()'}]"}, nil, "undeclared reference to 'nope'"},
		{"cost", []string{"items: {type: string}", "items: {type: string}, x-kubernetes-validations: [{rule: 'self.all(x, self.all(y, self.all(z, x == y + z)))'}]"}, nil, "estimated rule cost exceeds budget"},
		{"group", []string{"group: example.com", "group: example.org"}, valid, "must be spec.names.plural"},
		{"scope", []string{"Namespaced", "Cluster"}, valid, `spec.scope: Invalid value: "Cluster": field is immutable`},
		{"stored version", []string{"name: v1", "name: v2"}, valid, `status.storedVersions[0]: Invalid value: "v1": missing from spec.versions`},
		{"another version", []string{"versions: [", "versions: [{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}, "}, valid, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			refusals, err := Definition(definition(t, test.edits...), test.old)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(refusals) > 0 {
				got = refusals.ToAggregate().Error()
			}
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
