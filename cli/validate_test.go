package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"stoic/schema"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// run runs a fresh validate command.
func runValidate(stdin string, args ...string) (out string, code int, err error) {
	cmd := newValidateCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var b bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&b)
	cmd.SetArgs(args)
	err = cmd.Execute()
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		code = coded.ExitCode()
	} else if err != nil {
		code = -1
	}
	return b.String(), code, err
}

// TestValidateGolden runs the command in the first line of each testdata/validate/*.txtar in a folder that holds
// the archive's files, and compares with its file "want". A file "stdin" is standard input.
func TestValidateGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/validate/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, file) })
	}
}

func golden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folder, stdin, want := t.TempDir(), "", ""
	var inputs []txtar.File
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		inputs = append(inputs, f)
		if f.Name == "stdin" {
			stdin = string(f.Data)
			continue
		}
		path := filepath.Join(folder, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	command, _, _ := strings.Cut(string(archive.Comment), "\n")
	got, code, err := runValidate(stdin, strings.Fields(command)[2:]...)
	if err != nil && err.Error() != "" {
		got += "error: " + err.Error() + "\n"
	}
	got += "exit " + strconv.Itoa(code) + "\n"
	if *update {
		archive.Files = append(inputs, txtar.File{Name: "want", Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestValidateUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"-o", "xml", "-"}, {"-f", "/does/not/exist"}, {t.TempDir()}} {
		if _, code, err := runValidate("", args...); code != 2 || err.Error() == "" {
			t.Errorf("%q: exit %d, %v", args, code, err)
		}
	}
}

// TestValidateIsPlain: what is wrong ends the program with a code, without a further word.
func TestValidateIsPlain(t *testing.T) {
	_, code, err := runValidate("kind: TFJob\n", "-")
	if code != 1 || err.Error() != "" || errors.Unwrap(err) != nil {
		t.Errorf("exit %d, %q", code, err)
	}
}

func TestSteps(t *testing.T) {
	for path, want := range map[string][]string{
		"":               nil,
		"spec":           {"spec"},
		"spec.a[0].b-c":  {"spec", "a", "[0]", "b-c"},
		`a["x.y/z"].b`:   {"a", `["x.y/z"]`, "b"},
		`a["\"]\\"][12]`: {"a", `["\"]\\"]`, "[12]"},
		`a["cut`:         {"a"},
		`a[1`:            {"a"},
	} {
		if diff := cmp.Diff(want, stepsOf(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestFind(t *testing.T) {
	const text = `base: &base
  image: tf
  args: [a, "b"]
spec:
  containers:
  - <<: *base
    name: x
  - *base
  - <<: [{deep: 1}, *base]
    <<: 3
  labels: {n: 1, "a/b": 2, on: 3}
  twice: 1
  twice: 2
`
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path         string
		onKey        bool
		line, column int
	}{
		{"", false, 1, 1},
		{"metadata.name", false, 1, 1},
		{"spec", true, 4, 1},
		{"spec.missing", false, 4, 1},
		{"spec.containers", false, 6, 3},
		{"spec.containers[0].name", false, 7, 11},
		{"spec.containers[0].name", true, 7, 5},
		{"spec.containers[0].image", false, 2, 10},
		{"spec.containers[0].args[1]", false, 3, 13},
		{"spec.containers[0].args[2]", false, 3, 9},
		{"spec.containers[0].command", false, 6, 5},
		{"spec.containers[1].image", true, 2, 3},
		{"spec.containers[2].image", false, 2, 10},
		{"spec.containers[9].image", false, 6, 3},
		{"spec.labels.false", false, 11, 15},
		{"spec.labels.true", true, 11, 28},
		{`spec.labels["a/b"]`, false, 11, 25},
		{"spec.twice", false, 13, 10},
		{"spec.twice.x", false, 13, 10},
	} {
		if got := find(&node, c.path, c.onKey); got.line != c.line || got.column != c.column {
			t.Errorf("%s: got %d:%d, want %d:%d", c.path, got.line, got.column, c.line, c.column)
		}
	}
}

// FuzzValidate: no file ends the program, and every finding has a place in it.
func FuzzValidate(f *testing.F) {
	files, _ := filepath.Glob("testdata/validate/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	f.Add([]byte("a: &a [*a]\nkind: TFJob\n"))
	f.Add([]byte("kind: TFJob\nspec: &s {<<: *s}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		var r report
		r.source("fuzz", content)
		lines := 2 + bytes.Count(content, []byte("\n")) + bytes.Count(content, []byte("\r"))
		for _, f := range r.Results {
			if f.Line < 1 || f.Column < 1 || f.Line > lines && !bytes.ContainsAny(content, "\u0085\u2028\u2029") {
				t.Errorf("%d lines: %+v", lines, f)
			}
		}
		var b bytes.Buffer
		if err := r.text(&b); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != len(r.Results)+1+headed(r) {
			t.Errorf("%d lines of output for %d findings", n, len(r.Results))
		}
		b.Reset()
		if err := r.json(&b); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("%v: %s", err, b.String())
		}
	})
}

func headed(r report) (n int) {
	for _, o := range r.objects {
		if o.name.Kind != "" {
			n++
		}
	}
	return n
}

// TestValidateKnowsItsKinds: a document of each kind, in any case, is checked and not skipped.
func TestValidateKnowsItsKinds(t *testing.T) {
	for _, kind := range schema.Kinds() {
		for _, name := range []string{kind.Name, strings.ToLower(kind.Name)} {
			var r report
			r.source("x", []byte("apiVersion: "+kind.APIVersion()+"\nkind: "+name+"\n"))
			if r.Summary.Documents != 1 || r.Summary.Skipped != 0 {
				t.Errorf("%s: %+v", name, r.Summary)
			}
		}
	}
}
