package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// definition is a small CustomResourceDefinition.
const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
  spec: {group: example.com, names: {kind: Widget, plural: widgets}, scope: Namespaced, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}}]}}
`

// TestValidateCRDUsage: a file without a valid CRD ends the call with code 2 before anything is checked.
func TestValidateCRDUsage(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"crd.yaml":       definition,
		"again.yaml":     definition + "---\n" + definition,
		"none.yaml":      "kind: ConfigMap\n",
		"empty.yaml":     "",
		"old.yaml":       strings.Replace(definition, "io/v1,", "io/v1beta1,", 1),
		"typed.yaml":     strings.Replace(definition, "served: true", "served: 5", 1),
		"broken.yaml":    "a: b: c\n",
		"unserved.yaml":  strings.Replace(definition, "served: true", "served: false", 1),
		"unknown.yaml":   strings.Replace(definition, "type: integer", "type: int", 1),
		"nothing/x.text": "",
		"others/a.yaml":  "kind: ConfigMap\n",
		"mixed/a.yaml":   "kind: ConfigMap\n",
		"mixed/crd.yaml": definition,
		"list.yaml":      "{kind: List, items: [5, null, {kind: [a]}, " + definition + "]}",
		"widget.yaml":    "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, size: 1}",
	} {
		write(t, filepath.Join(folder, name), []byte(content))
	}
	t.Chdir(folder)
	for _, test := range []struct{ call, says string }{
		{"--crd - widget.yaml", "--crd: names a file or a folder"},
		{"--live --crd crd.yaml", "--crd is for files only"},
		{"--crd crd.yaml", "nothing to check"},
		{"--crd nowhere.yaml widget.yaml", "nowhere.yaml"},
		{"--crd nothing widget.yaml", "nothing: no file ends in .yaml"},
		{"--crd none.yaml widget.yaml", "--crd none.yaml: holds no CustomResourceDefinition"},
		{"--crd empty.yaml widget.yaml", "--crd empty.yaml: holds no CustomResourceDefinition"},
		{"--crd others widget.yaml", "--crd others: holds no CustomResourceDefinition"},
		{"--crd crd.yaml,others widget.yaml", "--crd others: holds no CustomResourceDefinition"},
		{"--crd again.yaml widget.yaml", "--crd again.yaml: kind Widget of group example.com is defined already"},
		{"--crd crd.yaml,crd.yaml widget.yaml", "is defined already"},
		{"--crd old.yaml widget.yaml", `--crd old.yaml: line 1: apiVersion: found "apiextensions.k8s.io/v1beta1", must be "apiextensions.k8s.io/v1"`},
		{"--crd typed.yaml widget.yaml", "--crd typed.yaml: line 1: read the CustomResourceDefinition: json: cannot unmarshal number"},
		{"--crd broken.yaml widget.yaml", "--crd broken.yaml: line 1: found a document that is not YAML: "},
		{"--crd unserved.yaml widget.yaml", "--crd unserved.yaml: line 1: widgets.example.com: spec.versions: must have one that is served"},
		{"--crd unknown.yaml widget.yaml", `widgets.example.com: spec.versions[0].schema.openAPIV3Schema.properties[size].type: found "int"`},
	} {
		out, talk, code, err := runValidate("", strings.Fields(test.call)...)
		if code != 2 || err == nil || !strings.Contains(err.Error(), test.says) || out != "" || talk != "" {
			t.Errorf("%q: exit %d, %v, stdout %q, stderr %q", test.call, code, err, out, talk)
		}
	}
	for _, call := range []string{"--crd crd.yaml widget.yaml", "--crd list.yaml widget.yaml", "--crd only widget.yaml", "--crd mixed widget.yaml"} {
		if err := os.MkdirAll("only", 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join("only", "crd.yml"), []byte(definition))
		out, talk, code, err := runValidate("", strings.Fields(call)...)
		if want := "1 document checked, 0 rejected\n"; code != 0 || err != nil || out != want || talk != "" {
			t.Errorf("%q: exit %d, %v, stdout %q, stderr %q", call, code, err, out, talk)
		}
	}
}

// TestValidateCRDWithout: without --crd an object of a kind that is not served counts as another kind.
func TestValidateCRDWithout(t *testing.T) {
	out, _, code, err := runValidate("{apiVersion: example.com/v1, kind: Widget, size: big}", "-")
	if want := "0 documents checked, 0 rejected, 1 of other kinds skipped\n"; code != 0 || err != nil || out != want {
		t.Errorf("exit %d, %v, stdout %q", code, err, out)
	}
}

// TestValidateCRDCompletion: shells complete the names of files that can hold CRDs.
func TestValidateCRDCompletion(t *testing.T) {
	var out bytes.Buffer
	if code := Main([]string{"stoic", "__complete", "validate", "--crd", ""}, strings.NewReader(""), &out, &bytes.Buffer{}); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if got, want := out.String(), "yaml\nyml\njson\n:8\n"; got != want {
		t.Errorf("completes to %q, want %q", got, want)
	}
}
