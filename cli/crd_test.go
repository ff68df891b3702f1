package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema/crd/check"
)

// foobarTypes is a package of types.
var foobarTypes = filepath.Join("..", "examples", "operators", "foobar")

// TestCRDGenerate: the file matches the types, until one of the two changes.
func TestCRDGenerate(t *testing.T) {
	t.Chdir(foobarTypes)
	folder := filepath.Join(t.TempDir(), "new", "crd")
	file := filepath.Join(folder, "foobars.yaml")
	for _, step := range []struct {
		change func()
		args   string
		code   int
		says   string
	}{
		{nil, "--check", 1, file + ": missing\n"},
		{nil, "", 0, file + ": written\n"},
		{nil, "--check", 0, file + ": unchanged\n"},
		{func() { edit(t, file, "maxLength: 253", "maxLength: 254") }, "--check", 1, file + ": differs\n  .spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.target.maxLength: found 254, wanted 253\n"},
	} {
		if step.change != nil {
			step.change()
		}
		out, errOut, code := called(append([]string{"stoic", "crd", "generate", ".", "-o", folder}, strings.Fields(step.args)...)...)
		if code != step.code || errOut != "" || !strings.Contains(out, step.says) {
			t.Errorf("%s: code %d, stdout %q, stderr %q, want %d, %q", step.args, code, out, errOut, step.code, step.says)
		}
	}
	edit(t, file, "maxLength: 254", "maxLength: 253")
	out, errOut, code := called("stoic", "crd", "generate", ".")
	text, err := os.ReadFile(file)
	if err != nil || code != 0 || errOut != "" || strings.Count(out, "\nkind: CustomResourceDefinition\n") != 2 || !strings.HasSuffix(out, "---\n"+string(text)) {
		t.Errorf("on standard output: code %d, stderr %q, %v\n%s", code, errOut, err, out)
	}
}

// TestCRDFiles: no CRD overwrites the file of another one.
func TestCRDFiles(t *testing.T) {
	var crds []*crdv1.CustomResourceDefinition
	for _, name := range [][2]string{{"foos", "a.example.com"}, {"foos", "b.example.com"}, {"bars", "a.example.com"}} {
		crd := new(crdv1.CustomResourceDefinition)
		crd.Name, crd.Spec.Names.Plural, crd.Spec.Group = name[0]+"."+name[1], name[0], name[1]
		crds = append(crds, crd)
	}
	files, err := filesOf(crds, "./api")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.example.com_foos.yaml", "b.example.com_foos.yaml", "bars.yaml"}, slices.Sorted(maps.Keys(files))); d != "" {
		t.Error(d)
	}
	if text := string(files["b.example.com_foos.yaml"]); !strings.Contains(text, "name: foos.b.example.com\n") {
		t.Error(text)
	}
}

func edit(t *testing.T, file, from, to string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(text, []byte(from)) {
		t.Fatalf("%s holds no %q: %v", file, from, err)
	}
	write(t, file, bytes.Replace(text, []byte(from), []byte(to), 1))
}

// TestCRDGenerateOfNothing: a package that makes no CRD is an error that says why.
func TestCRDGenerateOfNothing(t *testing.T) {
	engine, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "go.mod"), []byte("module example.com/x\n\ngo 1.26\n"))
	write(t, filepath.Join(folder, "plain", "x.go"), []byte("package plain\n\ntype Foo struct{}\n"))
	write(t, filepath.Join(folder, "broken", "x.go"), []byte("// +groupName=example.com\npackage broken\n\nfunc {\n"))
	t.Chdir(folder)
	for pattern, says := range map[string]string{
		"./plain":   "no type of the package is marked +kubebuilder:object:root=true",
		"./broken":  "controller-gen cannot read it",
		"./nowhere": "nowhere",
		"broken":    "\nwrite ./ in front of a folder: ./broken\n",
	} {
		out, errOut, code := called("stoic", "crd", "generate", pattern, "--engine", engine)
		if code != 1 || out != "" || !strings.Contains(errOut, says) || strings.Contains(errOut, "Usage:") {
			t.Errorf("%s: code %d, stdout %q, stderr %q, want %q", pattern, code, out, errOut, says)
		}
	}
	out, errOut, code := called("stoic", "crd", "generate", "./plain")
	if code != 1 || out != "" || !strings.Contains(errOut, "the sources of stoic were not found") {
		t.Errorf("without sources: code %d, %q, %q", code, out, errOut)
	}
	t.Setenv("PATH", folder)
	if _, errOut, code = called("stoic", "crd", "generate", "./plain", "--engine", engine); code != 1 || !strings.Contains(errOut, "this needs Go") {
		t.Errorf("without go: code %d, %q", code, errOut)
	}
}

// mixed holds a CRD with problems, in a list, after another object.
const mixed = `kind: ConfigMap
apiVersion: v1
---
apiVersion: v1
kind: List
items:
  - apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: widgets.example.com}
    spec:
      group: example.com
      scope: Namespaced
      names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
      versions:
        - name: v1
          served: true
          storage: true
          subresources: {status: {}}
          schema:
            openAPIV3Schema:
              type: object
              properties:
                spec:
                  type: object
                  properties:
                    size: {type: integer, default: x}
                    name:
                      type: string
                      maxLength: 9
                      x-kubernetes-validations:
                        - rule: self.nope()
                status:
                  type: object
                  properties: {conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {type: {type: string}}}}}
`

// TestCRDCheck: problems are reported at their position, both those found without an API server and those that its code finds.
func TestCRDCheck(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "mixed.yaml"), []byte(mixed))
	write(t, filepath.Join(folder, "right.yaml"), []byte(strings.NewReplacer(", default: x", "", "self.nope()", "size(self) > 0").Replace(mixed)))
	write(t, filepath.Join(folder, "rule.yaml"), []byte(strings.Replace(mixed, ", default: x", "", 1)))
	write(t, filepath.Join(folder, "old.yaml"), []byte(strings.NewReplacer("maxLength: 9", "maxLength: 10", "name: v1", "name: v2", "default: x", "default: 1", "- rule: self.nope()", "[]").Replace(mixed)))
	write(t, filepath.Join(folder, "patch.yaml"), []byte("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {conversion: {strategy: Webhook}}}"))
	write(t, filepath.Join(folder, "versions.yaml"), []byte(`kind: ConfigMap
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {b: {type: string}}}}}
`))
	write(t, filepath.Join(folder, "none.yaml"), []byte("kind: ConfigMap\n"))
	write(t, filepath.Join(folder, "beta.yaml"), []byte("apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"))
	write(t, filepath.Join(folder, "typed.yaml"), []byte(strings.Replace(mixed, "served: true", "served: 5", 1)))
	write(t, filepath.Join(folder, "refused.yaml"), []byte(strings.NewReplacer("scope: Namespaced", "scope: Global", "served: true", "serve: true", "{type: integer, default: x}", "{type: int, foo: 1}", "widgets.example.com", "widget.example.com").Replace(mixed)))
	t.Chdir(folder)
	for _, test := range []struct {
		args string
		code int
		out  []string
		says string // on standard error
	}{
		{"right.yaml", 0, []string{
			"right.yaml:33:19: warning: spec.versions[0].schema.openAPIV3Schema.properties.status: found conditions without an observedGeneration, must have one in the status",
			"1 document checked, 0 rejected, 1 warning, 1 of other kinds skipped\n"}, ""},
		{"right.yaml --strict", 1, nil, ""},
		{"right.yaml --strict --ignore NoObservedGeneration", 0, []string{"1 finding ignored"}, ""},
		{"right.yaml --strict --against right.yaml", 0, []string{"1 document checked, 0 rejected, 1 of other kinds skipped\n"}, ""},
		{"patch.yaml", 0, nil, "note: patches of CustomResourceDefinitions are skipped: 1; -v lists them"},
		{"versions.yaml", 0, []string{"found other fields than in \"v1\", and no conversion", "[VersionsDiffer]"}, ""},
		{"versions.yaml patch.yaml --strict", 0, []string{"1 document checked, 0 rejected, 1 of other kinds skipped"}, "patches of CustomResourceDefinitions are skipped: 1"},
		{"patch.yaml -v", 0, nil, "note: patch.yaml:1 is skipped: it is a patch of a CustomResourceDefinition"},
		{"refused.yaml -v", 1, []string{
			`refused.yaml:9:22: error: metadata.name: found "widget.example.com", must be "widgets.example.com", PLURAL.GROUP [RefusedByServer]`,
			`refused.yaml:12:14: error: spec.scope: found "Global", must be "Namespaced" or "Cluster" [RefusedByServer]`,
			`refused.yaml:16:11: warning: spec.versions[0].serve: must be a field of a CustomResourceDefinition; API servers drop it; kubectl apply refuses it [FieldDropped]`,
			`refused.yaml:26:39: warning: spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.foo: must be a field of`}, "is skipped: ConfigMap of v1"},
		{"refused.yaml", 1, []string{"widget.example.com: 4 errors, 2 warnings"}, ""},
		{"mixed.yaml", 1, []string{
			"mixed.yaml:26:52: error: spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.size.default: must be of type integer: \"string\" [DefaultRefused]"}, ""},
		{"rule.yaml", 1, []string{
			"rule.yaml:31:33: error: spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.name.x-kubernetes-validations[0].rule: ", "undeclared reference to 'nope'", "[RuleRefused]"}, ""},
		{"mixed.yaml --against old.yaml", 1, []string{"found 9, must be at least 10, as it was [RejectsStored]", "no version \"v2\", in which objects may be stored, must have it until none is"}, ""},
		{"mixed.yaml --against old.yaml", 1, []string{"status.storedVersions[0]: ", "v2 was previously a storage version", "[RefusedByServer]"}, ""},
		{"mixed.yaml --against none.yaml", 2, nil, "--against none.yaml: no CustomResourceDefinition was found"},
		{"mixed.yaml --against beta.yaml", 2, nil, `--against beta.yaml: apiVersion: found "apiextensions.k8s.io/v1beta1"`},
		{"none.yaml", 2, nil, "no CustomResourceDefinition was found"},
		{"beta.yaml", 1, []string{`beta.yaml:1:13: error: apiVersion: found "apiextensions.k8s.io/v1beta1", must be "apiextensions.k8s.io/v1" [RefusedByServer]`}, ""},
		{"typed.yaml", 1, []string{"found number, must be of type bool [RefusedByServer]"}, ""},
		{"right.yaml -o github", 0, []string{"::warning file=right.yaml,line=33,col=19,title=NoObservedGeneration::spec.versions[0]"}, ""},
		{"right.yaml -o sarif", 0, []string{`"id": "StatusBlocked"`, `"ruleId": "NoObservedGeneration"`, `"startLine": 33`}, ""},
	} {
		t.Run(test.args, func(t *testing.T) {
			out, errOut, code := called(append([]string{"stoic", "crd", "check"}, strings.Fields(test.args)...)...)
			for _, part := range test.out {
				if !strings.Contains(out, part) {
					t.Errorf("it does not say %q", part)
				}
			}
			if code != test.code || !strings.Contains(errOut, test.says) || test.says == "" && errOut != "" || t.Failed() {
				t.Errorf("code %d, want %d; stderr %q, want %q; stdout:\n%s", code, test.code, errOut, test.says, out)
			}
		})
	}
}

// TestCRDCheckForPrograms: JSON is the report of stoic validate, and standard input is a file.
func TestCRDCheckForPrograms(t *testing.T) {
	var out, errOut bytes.Buffer
	code := Main([]string{"stoic", "crd", "check", "-o", "json", "-"}, strings.NewReader(mixed), &out, &errOut)
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || code != 1 || errOut.Len() > 0 {
		t.Fatalf("code %d, %v, %s", code, err, errOut.String())
	}
	if len(r.Results) != 2 || r.Results[0].File != standardInput || r.Results[0].Object.Name != "widgets.example.com" || r.Summary.Skipped != 1 {
		t.Errorf("%+v", r)
	}
}

// TestCRDCheckOfOurs: no CRD of this project has an error, also according to the code of the API server. No rule blocks the status of an
// object that violates it. CRDs of the examples have no warnings.
func TestCRDCheckOfOurs(t *testing.T) {
	examples, err := filepath.Glob("../examples/operators/*/deploy/crd")
	if err != nil || len(examples) < 5 {
		t.Fatal(examples, err)
	}
	out, errOut, _ := called(append([]string{"stoic", "crd", "check", "-o", "json", "../deploy/crd", "../deploy/mpijob-v2beta1"}, examples...)...)
	var r report
	if err := json.Unmarshal([]byte(out), &r); err != nil || errOut != "" || len(r.Notes) > 0 {
		t.Fatalf("%v, notes %q, stderr %q\n%s", err, r.Notes, errOut, out)
	}
	if r.Summary.Documents != 14 || r.Summary.Rejected != 0 || r.Summary.Errors != 0 {
		t.Errorf("%+v\n%s", r.Summary, out)
	}
	var found []string
	for _, f := range r.Results {
		if f.Code == check.StatusBlocked {
			t.Errorf("%s: %s", f.File, f.Message)
		} else if strings.HasPrefix(filepath.ToSlash(f.File), "../examples/") {
			found = append(found, filepath.Base(f.File)+" "+string(f.Code)+" "+f.Path)
		}
	}
	if len(found) > 0 {
		t.Error(found)
	}
}
