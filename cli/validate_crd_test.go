package cli

import (
	"bytes"
	"fmt"
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
		"other.yaml":     strings.Replace(definition, "type: integer", "type: string", 1),
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
		{"--crd broken.yaml widget.yaml", "--crd broken.yaml: line 1: found a document that is not YAML: "},
	} {
		out, talk, code, err := runValidate("", strings.Fields(test.call)...)
		if code != 2 || err == nil || !strings.Contains(err.Error(), test.says) || out != "" || talk != "" {
			t.Errorf("%q: exit %d, %v, stdout %q, stderr %q", test.call, code, err, out, talk)
		}
	}
	for _, call := range []string{"--crd crd.yaml widget.yaml", "--crd list.yaml widget.yaml", "--crd only widget.yaml", "--crd mixed widget.yaml",
		"--crd again.yaml widget.yaml", "--crd crd.yaml,crd.yaml widget.yaml"} {
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

// TestValidateBadDefinition: a definition that cannot be used ends the call with code 2 if there is an object of its kind, and all other
// objects are checked. Without such an object nobody is told.
func TestValidateBadDefinition(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "widget.yaml", []byte("{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, size: 1}"))
	write(t, "gadget.yaml", []byte("{apiVersion: example.com/v1, kind: Gadget, metadata: {name: a}, size: 1}"))
	write(t, "good.yaml", []byte(definition))
	for _, test := range []struct{ name, was, is, says string }{
		{"another version of the API", "io/v1,", "io/v1beta1,", `--crd crds/bad.yaml: line 1: apiVersion: found "apiextensions.k8s.io/v1beta1", must be "apiextensions.k8s.io/v1"`},
		{"another type", "served: true", "served: 5", "--crd crds/bad.yaml: line 1: read the CustomResourceDefinition: json: cannot unmarshal number"},
		{"not served", "served: true", "served: false", "--crd crds/bad.yaml: line 1: widgets.example.com: spec.versions: must have one that is served"},
		{"no schema", "type: integer", "type: int", `widgets.example.com: spec.versions[0].schema.openAPIV3Schema.properties[size].type: found "int"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			write(t, "crds/bad.yaml", []byte(strings.Replace(definition, test.was, test.is, 1)))
			write(t, "crds/gadget.yaml", []byte(strings.NewReplacer("Widget", "Gadget", "widgets", "gadgets").Replace(definition)))
			out, _, code, err := runValidate("", "--crd", "crds", "widget.yaml", "gadget.yaml")
			if code != 2 || err == nil || !strings.Contains(err.Error(), test.says) || out != "1 document checked, 0 rejected, 1 of other kinds skipped\n" {
				t.Errorf("exit %d, %v, stdout %q", code, err, out)
			}
			if out, talk, code, err := runValidate("", "--crd", "crds", "gadget.yaml"); code != 0 || talk != "" {
				t.Errorf("exit %d, %v, stdout %q, stderr %q", code, err, out, talk)
			}
		})
	}
	write(t, "crds/bad.yaml", []byte(strings.Replace(definition, "type: integer", "type: string", 1)))
	_, _, code, err := runValidate("", "--crd", "good.yaml,crds", "widget.yaml")
	if want := "--crd crds/bad.yaml: line 1: kind Widget of group example.com is defined differently in good.yaml: line 1"; code != 2 || err == nil || err.Error() != want {
		t.Errorf("exit %d, %v", code, err)
	}
}

// TestSkimmed: the kind of a definition is read without parsing it, or not at all.
func TestSkimmed(t *testing.T) {
	const plain = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: x\nspec:\n  group: example.com\n  names:\n    kind: Widget\n    plural: widgets\n"
	for name, test := range map[string]struct{ text, want string }{
		"plain":         {plain, "example.com Widget true"},
		"quoted":        {strings.NewReplacer("example.com", `"example.com"`, " Widget", " 'Widget'").Replace(plain), "example.com Widget true"},
		"Windows":       {strings.ReplaceAll(plain, "\n", "\r\n"), "example.com Widget true"},
		"another kind":  {strings.Replace(plain, "CustomResourceDefinition", "Foo", 1), "  false"},
		"braces":        {definition, "  false"},
		"a template":    {"{{- if .Values.crds }}\n" + plain, "  false"},
		"anchor":        {strings.Replace(plain, " Widget", " &kind Widget", 1), "  false"},
		"a further one": {plain + "...\nkind: Foo\n", "  false"},
		"elsewhere":     {strings.Replace(plain, "spec:", "other:", 1), "  false"},
	} {
		if group, kind, ok := skimmed([]byte(test.text)); fmt.Sprint(group, " ", kind, " ", ok) != test.want {
			t.Errorf("%s: %q %q %v, want %s", name, group, kind, ok, test.want)
		}
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
