package check

import (
	"strings"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/schema"
)

// serverDefinition returns a small CRD; edits are applied to its text.
func serverDefinition(t *testing.T, edits ...string) *crdv1.CustomResourceDefinition {
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

// TestServer: what the API server's code says of a CRD, and of a change.
func TestServer(t *testing.T) {
	valid := serverDefinition(t)
	for _, test := range []struct {
		name  string
		edits []string
		old   *crdv1.CustomResourceDefinition
		want  string
	}{
		{"fine", nil, nil, ""},
		{"no change", nil, valid, ""},
		{"default", []string{"default: x", "default: 7"}, nil, "properties.spec.properties.a.default: must"},
		{"not structural", []string{"a: {type: string", "a: {maxLength: 3"}, nil, "properties.a.type: must not be empty for specified object fields"},
		{"rule", []string{"default: x", "x-kubernetes-validations: [{rule: 'self.nope()'}]"}, nil, "undeclared reference to 'nope'"},
		{"cost", []string{"items: {type: string}", "items: {type: string}, x-kubernetes-validations: [{rule: 'self.all(x, self.all(y, self.all(z, x == y + z)))'}]"}, nil, "estimated rule cost exceeds budget"},
		{"group", []string{"group: example.com", "group: example.org"}, valid, "must be spec.names.plural"},
		{"scope", []string{"Namespaced", "Cluster"}, valid, "spec.scope: found \"Cluster\", must be accepted by the API server, which says: field is immutable"},
		{"stored version", []string{"name: v1", "name: v2"}, valid, "status.storedVersions[0]: found \"v1\", must be accepted by the API server, which says: missing from spec.versions"},
		{"another version", []string{"versions: [", "versions: [{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}, "}, valid, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := Server(serverDefinition(t, test.edits...), test.old, nil)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, p := range found {
				lines = append(lines, p.String())
			}
			got := strings.Join(lines, "\n")
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	known := []schema.Problem{{Code: NotStructural, Path: "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.type"}}
	found, err := Server(serverDefinition(t, "a: {type: string", "a: {maxLength: 3"), nil, known)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		if p.Path == known[0].Path {
			t.Errorf("a known problem is reported again: %s", p)
		}
	}
}
