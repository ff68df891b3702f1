package check

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"stoic/convert/verdict"
	"stoic/schema"
	"stoic/test/golden"
)

var update = flag.Bool("update", false, "write the golden files")

func parse(t interface{ Fatal(...any) }, text []byte) *crdv1.CustomResourceDefinition {
	crd := new(crdv1.CustomResourceDefinition)
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// unchanged evaluates rules as stoic crd check does.
func unchanged(former, now *crdv1.JSONSchemaProps, rule crdv1.ValidationRule, root, rules bool) (Outcome, error) {
	outcome, err := verdict.Unchanged(former, now, rule, root, rules)
	return Outcome(outcome), err
}

// TestGolden: the problems of each definition, and of its change from NAME.old. TestRefusals has what only the API server's own
// code reports. Every code occurs in some test.
func TestGolden(t *testing.T) {
	shown := map[schema.Code]bool{RefusedByServer: true, RuleRefused: true, DefaultRefused: true, TooLargeForApply: true, FieldDropped: true} // in other tests
	golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		crd := parse(t, archive[name+".yaml"])
		before := crd.DeepCopy()
		found := All(crd, unchanged)
		if old, ok := archive[name+".old"]; ok {
			found = append(found, Against(crd, parse(t, old), unchanged)...)
		}
		if !reflect.DeepEqual(before, crd) {
			t.Error("the definition has changed")
		}
		var b strings.Builder
		for _, p := range schema.SortProblems(found) {
			shown[p.Code] = true
			severity := map[bool]string{true: "error", false: "warning"}[IsError(p.Code)]
			fmt.Fprintf(&b, "%s %s: %s\n", severity, p.Code, strings.ReplaceAll(p.String(), "spec.versions[0].schema.openAPIV3Schema", "SCHEMA"))
		}
		if b.Len() == 0 {
			return "nothing\n"
		}
		return b.String()
	}, kept(t)...)
	for _, code := range Codes() {
		if !shown[code] {
			t.Errorf("no test shows %s", code)
		}
	}
}

// kept returns the names of the former definitions in the archives.
func kept(t *testing.T) (names []string) {
	for _, name := range []string{"tightened", "loosened", "versions-gone", "another-resource", "pruned", "types", "new-version"} {
		names = append(names, name+".old")
	}
	return names
}

func TestTopics(t *testing.T) {
	for _, topic := range Topics() {
		if topic.Meaning == "" || topic.Remedy == "" || !strings.HasSuffix(topic.Remedy, ".") || !strings.HasSuffix(topic.Meaning, ".") {
			t.Errorf("%s: %q, %q", topic.Code, topic.Meaning, topic.Remedy)
		}
		if topic.Code.Meaning() != "" || slices.Contains(schema.Codes(), topic.Code) {
			t.Errorf("%s is a code of objects, too", topic.Code)
		}
	}
	if TopicOf("TypeMismatch") != nil || TopicOf(StatusBlocked) == nil {
		t.Error("codes are mixed up")
	}
}

// TestRefusals: an error of an API server gets the path in the file and the code of its cause.
func TestRefusals(t *testing.T) {
	crd := &crdv1.CustomResourceDefinition{Spec: crdv1.CustomResourceDefinitionSpec{Versions: make([]crdv1.CustomResourceDefinitionVersion, 2)}}
	known := []schema.Problem{{Code: NotStructural, Path: "spec.versions[0].schema.openAPIV3Schema.properties.a.type"}, {Code: RefusedByServer, Path: "metadata.name"}}
	for _, test := range []struct {
		refusal *field.Error
		want    string
	}{
		{field.Invalid(field.NewPath("spec", "scope"), "Cluster", "field is immutable"), `RefusedByServer spec.scope: found "Cluster", must be accepted by the API server, which says: field is immutable`},
		{field.Invalid(field.NewPath("metadata", "name"), "x", `must be spec.names.plural+"."+spec.group`), ""},
		{field.Required(field.NewPath("spec", "names", "plural"), ""), "RefusedByServer spec.names.plural: must be set"},
		{field.Invalid(field.NewPath("spec", "validation", "openAPIV3Schema", "properties").Key("spec").Child("x-kubernetes-validations").Index(1).Child("rule"), map[string]any{}, "compilation failed: nope"),
			"RuleRefused spec.versions[0].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[1].rule: must be accepted by the API server, which says: compilation failed: nope"},
		{field.NotSupported(field.NewPath("spec", "versions").Index(1).Child("schema", "openAPIV3Schema", "properties").Key("a.b").Child("default"), "x", []string{"y"}),
			`DefaultRefused spec.versions[1].schema.openAPIV3Schema.properties["a.b"].default: must be accepted by the API server, which says: Unsupported value: "x": supported values: "y"`},
		{field.Required(field.NewPath("spec", "subresources", "scale", "specReplicasPath"), ""), "RefusedByServer spec.versions[0].subresources.scale.specReplicasPath: must be set"},
		{field.Required(field.NewPath("spec", "validation", "openAPIV3Schema", "properties").Key("a").Child("type"), "must not be empty for specified object fields"), ""},
	} {
		got := ""
		for _, p := range Refusals(crd, field.ErrorList{test.refusal, test.refusal}, known) {
			got += string(p.Code) + " " + p.String()
		}
		if got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.refusal.Field, got, test.want)
		}
	}
}

// TestDecode: keys are case-sensitive, as for API servers.
func TestDecode(t *testing.T) {
	for document, want := range map[string]string{
		`{"spec": {"scope": "Cluster", "names": {"plural": "foos"}}, "status": {}}`: "",
		`{"spec": {"Scope": "Cluster", "names": {"plurals": "foos"}}}`: "spec.Scope: must be a field of a CustomResourceDefinition; API servers drop it; kubectl apply refuses it\n" +
			"spec.names.plurals: must be a field of a CustomResourceDefinition; API servers drop it; kubectl apply refuses it\n",
		`{"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a.b": {"typ": "object"}}}}}]}}`: "spec.versions[0].schema.openAPIV3Schema.properties.a.b.typ: must be a field of a CustomResourceDefinition; API servers drop it; kubectl apply refuses it\n",
		`{"spec": 3}`: "wrong",
	} {
		_, unknown, err := Decode([]byte(document))
		var got strings.Builder
		for _, p := range unknown {
			fmt.Fprintln(&got, p)
		}
		if err != nil {
			got.WriteString("wrong")
		}
		if d := cmp.Diff(want, got.String()); d != "" {
			t.Errorf("%s: %s", document, d)
		}
	}
}

func TestSize(t *testing.T) {
	document := func(n int) map[string]any { return map[string]any{"x": strings.Repeat("a", n)} }
	if found := Size(document(annotationLimit - 100)); len(found) != 0 {
		t.Errorf("%v", found)
	}
	if found := Size(document(annotationLimit)); len(found) != 1 || found[0].Code != TooLargeForApply {
		t.Errorf("%v", found)
	}
	if found := Size(map[string]any{"x": strings.Repeat("<", annotationLimit/5)}); len(found) != 1 {
		t.Errorf("< has six bytes there: %v", found)
	}
}

// TestPaths: which JSONPaths are parsed, and which are left to the API server.
func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		".a.b": "a b", `.status.conditions[?(@.type=="Ready")].status`: "status conditions [] status", ".a[0].b": "a [] b", ".a[-1:].b": "a [] b", "{.a}": "a", "$.a": "a",
		".a['b.c'].d": "a b.c d", `.a.b\.c/d`: "a b.c/d", ".metadata.annotations.x": "metadata annotations x", "": "",
		"a": "?", "..a": "?", ".*": "?", ".a[": "?", ".a['x": "?", ".": "?", ".a..b": "?",
	} {
		steps, ok := stepsOf(path)
		var got []string
		for _, s := range steps {
			if s.item {
				s.key = "[]"
			}
			got = append(got, s.key)
		}
		if text := strings.Join(got, " "); ok == (want == "?") || ok && text != want {
			t.Errorf("%q: %q, %v, want %q", path, text, ok, want)
		}
	}
}

// drawSchema draws any schema, sensible or not.
func drawSchema(t *rapid.T, depth int) *crdv1.JSONSchemaProps {
	node := &crdv1.JSONSchemaProps{Type: rapid.SampledFrom([]string{"", "object", "array", "string", "integer", "number", "boolean", "odd"}).Draw(t, "type")}
	yes := rapid.Bool().Draw(t, "yes")
	n := rapid.Int64Range(-1, 3).Draw(t, "n")
	f := float64(n)
	switch rapid.IntRange(0, 8).Draw(t, "extra") {
	case 0:
		node.XPreserveUnknownFields = &yes
	case 1:
		node.XIntOrString, node.Nullable = yes, !yes
	case 2:
		node.MaxLength, node.MinItems, node.Maximum = &n, &n, &f
	case 3:
		node.Enum = []crdv1.JSON{{Raw: []byte(`"a"`)}, {}}
	case 4:
		node.XValidations = crdv1.ValidationRules{{Rule: rapid.SampledFrom([]string{"", "self.a == oldSelf.a", "self.a", "(("}).Draw(t, "rule")}}
	case 5:
		node.AllOf = []crdv1.JSONSchemaProps{{Pattern: "a"}, {}}
	case 6:
		node.Required = []string{"a", "nowhere"}
	case 7:
		list := rapid.SampledFrom([]string{"map", "set", "odd"}).Draw(t, "list")
		node.XListType, node.XListMapKeys = &list, []string{"a"}
	}
	if depth > 0 && rapid.Bool().Draw(t, "below") {
		node.Properties = map[string]crdv1.JSONSchemaProps{"a": *drawSchema(t, depth-1), "spec": *drawSchema(t, depth-1)}
		node.Items = rapid.SampledFrom([]*crdv1.JSONSchemaPropsOrArray{nil, {}, {Schema: drawSchema(t, depth-1)}}).Draw(t, "items")
		node.AdditionalProperties = rapid.SampledFrom([]*crdv1.JSONSchemaPropsOrBool{nil, {}, {Allows: true, Schema: drawSchema(t, depth-1)}}).Draw(t, "additional")
	}
	return node
}

func drawCRD(t *rapid.T) *crdv1.CustomResourceDefinition {
	crd := new(crdv1.CustomResourceDefinition)
	for i := range rapid.IntRange(0, 3).Draw(t, "versions") {
		v := crdv1.CustomResourceDefinitionVersion{Name: fmt.Sprint("v", i), Served: rapid.Bool().Draw(t, "served"), Storage: rapid.Bool().Draw(t, "storage")}
		v.Schema = rapid.SampledFrom([]*crdv1.CustomResourceValidation{nil, {}, {OpenAPIV3Schema: drawSchema(t, 3)}}).Draw(t, "schema")
		if rapid.Bool().Draw(t, "subresources") {
			v.Subresources = &crdv1.CustomResourceSubresources{Status: &crdv1.CustomResourceSubresourceStatus{},
				Scale: &crdv1.CustomResourceSubresourceScale{SpecReplicasPath: rapid.SampledFrom([]string{"", ".spec.a", ".a[0]", "x", "..", ".metadata.x"}).Draw(t, "path")}}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, v)
	}
	return crd
}

// TestTotal: every definition and every change of one has a result, the same each time. An unchanged definition rejects nothing.
func TestTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		crd, old := drawCRD(t), drawCRD(t)
		text := fmt.Sprint(schema.SortProblems(All(crd, unchanged)), schema.SortProblems(Against(crd, old, unchanged)))
		if again := fmt.Sprint(schema.SortProblems(All(crd, unchanged)), schema.SortProblems(Against(crd, old, unchanged))); again != text {
			t.Fatalf("%s\nand then %s", text, again)
		}
		if found := Against(crd, crd.DeepCopy(), unchanged); len(found) > 0 {
			t.Fatalf("no change is told as one: %v", found)
		}
		for _, p := range All(crd, unchanged) {
			if TopicOf(p.Code) == nil || p.Path == "" || p.Found == "" && p.Want == "" {
				t.Fatalf("%+v", p)
			}
		}
	})
}
