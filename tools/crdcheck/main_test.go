package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// definition returns a small CRD; edits are applied to its text.
func definition(edits ...string) string {
	text := `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {group: example.com, scope: Namespaced,
 names: {plural: foos, singular: foo, kind: Foo, listKind: FooList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {
 spec: {type: object, properties: {a: {type: string, default: x}, b: {type: array, items: {type: string}}}}}}}}]}}`
	return strings.NewReplacer(edits...).Replace(text)
}

func asked(t *testing.T, crd, old string) string {
	t.Helper()
	read := func(text string) any {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	question, err := json.Marshal(map[string]any{"crd": read(crd), "old": read(old)})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(bytes.NewReader(append(question, question...)), &out); err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(&out)
	var first, second []refusal
	if err := answers.Decode(&first); err != nil {
		t.Fatal(err)
	}
	if err := answers.Decode(&second); err != nil || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("the same question is answered in another way: %v, %v", second, err)
	}
	var lines []string
	for _, r := range first {
		lines = append(lines, r.Path+": "+r.Detail)
	}
	return strings.Join(lines, "\n")
}

// TestAsk: what the API server's code says of a CRD, and of a change.
func TestAsk(t *testing.T) {
	for _, test := range []struct{ name, crd, old, want string }{
		{"fine", definition(), "null", ""},
		{"no change", definition(), definition(), ""},
		{"default", definition("default: x", "default: 7"), "null", "spec.validation.openAPIV3Schema.properties[spec].properties[a].default: "},
		{"not structural", definition("a: {type: string", "a: {maxLength: 3"), "null", "properties[a].type: Required value"},
		{"rule", definition("default: x", "x-kubernetes-validations: [{rule: 'self.nope()'}]"), "null", "x-kubernetes-validations[0].rule: Invalid value"},
		{"cost", definition("items: {type: string}", "items: {type: string}, x-kubernetes-validations: [{rule: 'self.all(x, self.all(y, self.all(z, x == y + z)))'}]"), "null", "estimated rule cost exceeds budget"},
		{"group", definition("group: example.com", "group: example.org"), definition(), "must be spec.names.plural"},
		{"scope", definition("Namespaced", "Cluster"), definition(), "spec.scope: Invalid value: \"Cluster\": field is immutable"},
		{"stored version", definition("name: v1", "name: v2"), definition(), "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions"},
		{"version beside", definition("versions: [", "versions: [{name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}, "), definition(), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := asked(t, test.crd, test.old)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestNonsense(t *testing.T) {
	for _, in := range []string{"{", `{"crd": 7}`, `{}`} {
		if err := run(strings.NewReader(in), new(bytes.Buffer)); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
	if err := run(strings.NewReader(""), os.Stderr); err != nil {
		t.Error(err)
	}
}
