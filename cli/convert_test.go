package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"stoic/training/versions/offline"
)

// TestConvertGolden: see goldenCommands.
func TestConvertGolden(t *testing.T) {
	goldenCommands(t, "testdata/convert/*.txtar", 8, func(stdin string, command []string) string {
		var out, talk bytes.Buffer
		code := Main(command, strings.NewReader(stdin), &out, &talk)
		return out.String() + "== stderr\n" + talk.String() + "== exit " + strconv.Itoa(code) + "\n"
	})
}

func TestConvertCalls(t *testing.T) {
	missing := outside(t)
	empty := t.TempDir()
	for call, test := range map[string]struct {
		code int
		says string
	}{
		"":                     {2, "nothing to convert"},
		"-o xml -":             {2, `--output: found "xml", must be "yaml" or "json"`},
		"--to v1beta1 -":       {2, `--to: found "v1beta1", must be "v1"`},
		"--gpus-per-node 0 -":  {2, "--gpus-per-node: found 0, must be from 1"},
		"--gpus-per-node -8 -": {2, "--gpus-per-node: found -8, must be from 1"},
		"-f " + missing:        {2, missing},
		empty:                  {2, "no file ends in .yaml"},
		"-":                    {2, "0 objects: 0 converted, 0 as before, 0 could not be converted\nerror: <stdin>: holds no document"},
	} {
		out, errOut, code := called(append([]string{"stoic", "convert"}, strings.Fields(call)...)...)
		if code != test.code || !strings.Contains(errOut, test.says) || out != "" {
			t.Errorf("%q: code %d, stdout %q, stderr %q, want %d %s", call, code, out, errOut, test.code, test.says)
		}
	}
}

// convertText returns what convert prints for a text.
func convertText(text []byte, output string) (out, talk string, failed int) {
	c := converting{convertFlags: &convertFlags{output: output, gpusPerNode: 8}}
	c.source("x.yaml", text)
	return c.out.String(), c.talk.String(), c.failed
}

// TestConvertInPlace: whatever the style of a manifest, the text rewritten in place has the content of the conversion. No comment of what
// remains is lost, and a second conversion changes nothing.
func TestConvertInPlace(t *testing.T) {
	const manifest = `# c0
apiVersion: kubeflow.org/v1beta2 # c1
kind: TFJob
metadata: {name: a}
spec:
`
	parts := []string{"  # c2\n  cleanPodPolicy: All # c3\n", "  backoffLimit: 3 # c4\n", "  # c5\n  tfReplicaSpecs: # c6\n    Worker: # c7\n      replicas: 2 # c8\n      template:\n        spec:\n          containers:\n          # c9\n          - name: tensorflow # c10\n            image: tf\n",
		"  on: 1 # c11\n", "  ttlSecondsAfterFinished: 017 # c12\n", "  x: [1, 2.50, ~, 'a', \"b\"] # c13\n", "  w: |\n    a\n    # no comment\n", "  \"quoted key\": {a: b} # c14\n", "  z: >-\n    folded\n    text\n"}
	rapid.Check(t, func(t *rapid.T) {
		text := manifest + strings.Join(rapid.Permutation(parts).Draw(t, "order")[:rapid.IntRange(1, len(parts)).Draw(t, "parts")], "")
		var raw map[string]any
		if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		out, talk, failed := convertText([]byte(text), "yaml")
		if failed > 0 || strings.Contains(talk, "comments and order") {
			t.Fatalf("%s\n%s", text, talk)
		}
		want, _ := offline.Convert(raw, offline.Options{})
		var got map[string]any
		if err := yaml.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if wants, gots := jsonOf(t, want.Object), jsonOf(t, got); wants != gots {
			t.Fatalf("%s\nwant %s\ngot  %s", out, wants, gots)
		}
		for i := range 15 {
			comment := "# c" + strconv.Itoa(i) + "\n"
			if strings.Contains(text, comment) && !strings.Contains(out, comment) {
				t.Fatalf("%s is gone from\n%s\nof\n%s", comment, out, text)
			}
		}
		if again, _, _ := convertText([]byte(out), "yaml"); again != out {
			t.Fatalf("converted again:\n%s\n%s", out, again)
		}
	})
}

// TestConvertLarge: the cost grows linearly with the number of objects or fields.
func TestConvertLarge(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: kubeflow.org/v1beta1\nkind: TFJobList\nitems:\n")
	for i := range 500 {
		fmt.Fprintf(&b, "- apiVersion: kubeflow.org/v1beta1\n  kind: TFJob\n  metadata: {name: a%d} # comment %d\n  spec: {cleanPodPolicy: All}\n", i, i)
	}
	out, talk, failed := convertText([]byte(b.String()), "yaml")
	if failed > 0 || strings.Count(out, "runPolicy: {cleanPodPolicy: All}") != 500 || !strings.Contains(out, "{name: a499} # comment 499\n") {
		t.Errorf("%d failed: %.500s\n%.500s", failed, talk, out)
	}
	b.Reset()
	b.WriteString("apiVersion: kubeflow.org/v1\nkind: TFJob\nspec:\n  cleanPodPolicy: All\n")
	for i := range 3000 {
		fmt.Fprintf(&b, "  x%d: %d # c\n", i, i)
	}
	out, _, failed = convertText([]byte(b.String()), "yaml")
	if failed > 0 || !strings.Contains(out, "  runPolicy:\n    cleanPodPolicy: All\n  x0: 0 # c\n") || strings.Count(out, "# c\n") != 3000 {
		t.Errorf("%d failed: %.500s", failed, out)
	}
}

func jsonOf(t rapid.TB, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzConvert: any text gets an answer. The output can be read, contains nothing new, and a second conversion changes nothing.
func FuzzConvert(f *testing.F) {
	for _, seed := range convertSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			t.Skip()
		}
		hasAnswer(t, text)
	})
}

// convertSeeds returns manifests of all forms, and malformed ones.
func convertSeeds(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, pattern := range []string{"../training/versions/offline/testdata/*.txtar", "testdata/convert/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal("no seeds", err)
		}
		for _, file := range files {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range archive.Files {
				if in.Name != "want" && !strings.HasSuffix(in.Name, ".want") {
					all = append(all, in.Data)
				}
			}
		}
	}
	for _, odd := range []string{"", "---\n---\n", "a: &a [*a]", "{", "\t", "%YAML 1.2\n---\nkind: TFJob\n", "kind: List\nitems: [1, {}]\n", "? [a]\n: b\n", "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: &s {backoffLimit: 1, <<: [{cleanPodPolicy: All}, {cleanPodPolicy: None}]}\n",
		"kind: TFJob\napiVersion: kubeflow.org/v1beta1\nkind: TFJob\nspec: !!binary aGVsbG8=\n", "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: {yes: 1, cleanPodPolicy: no, backoffLimit: 0x1F, n: 1_000, t: 2001-01-01}\n"} {
		all = append(all, []byte(odd))
	}
	return all
}

// hasAnswer: the output for a text can be read, and a second conversion changes nothing.
func hasAnswer(t rapid.TB, text []byte) {
	t.Helper()
	for _, output := range []string{"yaml", "json"} {
		out, talk, failed := convertText(text, output)
		if strings.Contains(talk, "write the document") || strings.Contains(talk, "this is a bug") {
			t.Fatal(talk)
		}
		if failed > 0 || output == "json" {
			continue
		}
		again, talk, failed := convertText([]byte(out), output)
		if failed > 0 {
			t.Fatalf("printed what cannot be read: %s\n%s", talk, out)
		}
		if a, b := valuesIn(t, out), valuesIn(t, again); !reflect.DeepEqual(a, b) {
			t.Fatalf("converted again:\n%s\n%s", out, again)
		}
	}
}

func valuesIn(t rapid.TB, text string) (all []any) {
	t.Helper()
	for _, doc := range documents([]byte(text), false) {
		e, err := parsed("", doc)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, e.raw)
	}
	return all
}
