package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"stoic/cli/command"
	"stoic/schema"
	"stoic/training/kinds"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// runValidate runs a fresh validate command.
func runValidate(stdin string, args ...string) (out, errOut string, code int, err error) {
	cmd := newValidateCommand()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	var b, talk bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&b)
	cmd.SetErr(&talk)
	cmd.SetArgs(args)
	err = cmd.Execute()
	var ended *command.ExitError
	if errors.As(err, &ended) {
		code = ended.Code
	} else if err != nil {
		code = -1
	}
	return b.String(), talk.String(), code, err
}

// TestValidateGolden: see goldenCommands.
func TestValidateGolden(t *testing.T) {
	goldenCommands(t, "testdata/validate/*.txtar", 1, func(stdin string, command []string) string {
		got, talk, code, err := runValidate(stdin, command[2:]...)
		got += talk
		if err != nil && err.Error() != "" {
			got += "error: " + err.Error() + "\n"
		}
		return got + "exit " + strconv.Itoa(code) + "\n"
	})
}

// goldenCommands runs the command in the first line of each archive, in a folder with the archive's files, and compares what run returns
// with its file "want". A file "stdin" is standard input; a file "cluster" holds the objects of the current cluster.
func goldenCommands(t *testing.T, archives string, least int, run func(stdin string, command []string) string) {
	files, err := filepath.Glob(archives)
	if err != nil || len(files) < least {
		t.Fatal("too few golden files", files, err)
	}
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { goldenCommand(t, file, run) })
	}
}

func goldenCommand(t *testing.T, file string, run func(stdin string, command []string) string) {
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
		switch f.Name {
		case "stdin":
			stdin = string(f.Data)
		case "cluster":
			t.Setenv("KUBECONFIG", newAPIServer(t, string(f.Data)).kubeconfig)
		default:
			write(t, filepath.Join(folder, f.Name), f.Data)
		}
	}
	t.Chdir(folder)
	command, _, _ := strings.Cut(string(archive.Comment), "\n")
	got := run(stdin, strings.Fields(command))
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

// write makes a file and the folders above it.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestValidateUsage: a call that cannot work ends with code 2 and says why; it prints nothing that could be taken for a report.
func TestValidateUsage(t *testing.T) {
	missing := outside(t)
	t.Setenv("HOME", t.TempDir())
	for _, test := range []struct{ call, says string }{
		{"", "nothing to check"},
		{"-o xml -", `--output: found "xml", must be "text", "json", "github" or "sarif"`},
		{"--ignore TypMismatch -", `--ignore: found "TypMismatch", must be one of TypeMismatch, UnknownField,`},
		{"--ignore= -f x -n y", "--namespace: goes with --live or --server only"},
		{"-A job.yaml", "--all-namespaces: goes with --live only"},
		{"--live job.yaml", "--live reads a cluster and no files"},
		{"--live -f -", "--live reads a cluster and no files"},
		{"--server -A job.yaml", "--all-namespaces: goes with --live only"},
		{"--live --server", "--server is for files only"},
		{"--server job.yaml", "no cluster to ask: "},
		{"--live -R", "--live reads a cluster and no files"},
		{"--live", "no cluster to ask: "},
		{"--live --kubeconfig " + missing, "read the kubeconfig: "},
		{"--live --context nowhere", `context "nowhere" does not exist`},
		{"--live --namespace a/b", `--namespace: found "a/b", must be the name of one namespace`},
		{"--live --request-timeout -1s", "--request-timeout: found -1s, must be 0 or more"},
	} {
		out, _, code, err := runValidate("", strings.Fields(test.call)...)
		if code != 2 || err == nil || !strings.Contains(err.Error(), test.says) || out != "" {
			t.Errorf("%q: exit %d, %v, stdout %q", test.call, code, err, out)
		}
	}
	for _, args := range [][]string{{"-f", "/does/not/exist"}, {t.TempDir()}} {
		if _, _, code, err := runValidate("", args...); code != 2 || err.Error() == "" {
			t.Errorf("%q: exit %d, %v", args, code, err)
		}
	}
}

func TestCompletionOfCodes(t *testing.T) {
	for typed, first := range map[string]string{"": "TypeMismatch\t", "Type": "TypeMismatch\t", "UnknownField,": "UnknownField,TypeMismatch\t"} {
		out, _, code := called("stoic", "__complete", "validate", "--ignore", typed)
		if code != 0 || !strings.HasPrefix(out, first) || strings.Count(out, "\n") != len(schema.Codes())+1 {
			t.Errorf("%q: code %d, %q", typed, code, out)
		}
	}
	if out, _, _ := called("stoic", "__complete", "validate", "-o", ""); !strings.HasPrefix(out, "text\njson\ngithub\nsarif\n") {
		t.Errorf("%q", out)
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

// TestDeepKeys: the memory for paths of nested keys grows linearly with their number.
func TestDeepKeys(t *testing.T) {
	const deep = 9000
	key := strings.Repeat("a", 60)
	for name, open := range map[string]string{"objects": "{" + key + ": ", "lists": "[{" + key + ": "} {
		closed := map[string]string{"objects": "}", "lists": "}]"}[name]
		var node yaml.Node
		if err := yaml.Unmarshal([]byte("spec: "+strings.Repeat(open, deep/len(closed))+"1"+strings.Repeat(closed, deep/len(closed))), &node); err != nil {
			t.Fatal(err)
		}
		visited := 0
		keys(&node, "", func(path string, _ *yaml.Node, _ bool) {
			if visited++; len(path) > longestPath {
				t.Fatalf("%s: key %d has a path of %d bytes", name, visited, len(path))
			}
		})
		if visited != 1+deep/len(closed) {
			t.Errorf("%s: %d keys", name, visited)
		}
	}
}

// FuzzValidate: no file crashes the program, and every finding has a position in it.
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
	f.Add([]byte("# Source: a\n---\n# Source: %0A::b\n\nkind: TFJob\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, name := range []string{"fuzz", standardInput} {
			var r report
			r.source(name, content)
			checkReport(t, content, &r)
		}
	})
}

func checkReport(t *testing.T, content []byte, r *report) {
	lines := 2 + bytes.Count(content, []byte("\n")) + bytes.Count(content, []byte("\r"))
	for _, f := range r.Results {
		if f.File == "" || f.Line < 1 || f.Column < 1 || f.Line > lines && !bytes.ContainsAny(content, "\u0085\u2028\u2029") {
			t.Errorf("%d lines: %+v", lines, f)
		}
	}
	var b bytes.Buffer
	if err := r.text(&b); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("\n")); n != len(r.Results)+1+headed(*r) {
		t.Errorf("%d lines of output for %d findings", n, len(r.Results))
	}
	b.Reset()
	if err := r.json(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v: %s", err, b.String())
	}
	b.Reset()
	if err := r.github(&b); err != nil {
		t.Fatal(err)
	}
	checkCommands(t, b.String(), r.Results)
	b.Reset()
	if err := r.sarif(&b); err != nil {
		t.Fatal(err)
	}
	checkSARIF(t, b.Bytes(), len(r.Results))
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
	for _, kind := range kinds.All() {
		for _, name := range []string{kind.Name, strings.ToLower(kind.Name)} {
			var r report
			r.source("x", []byte("apiVersion: "+kind.APIVersion()+"\nkind: "+name+"\n"))
			if r.Summary.Documents != 1 || r.Summary.Skipped != 0 {
				t.Errorf("%s: %+v", name, r.Summary)
			}
		}
	}
}

// TestValidateNamesOnOneLine: the name of a file can forge neither a line of output nor a command for a program that reads the output.
func TestValidateNamesOnOneLine(t *testing.T) {
	for _, name := range []string{"a\n::error::b", "::error file=x::y", "a\x1b[2Jb"} {
		var r report
		r.source(name, []byte("apiVersion: kubeflow.org/v1\nkind: TFJob\n"))
		var b bytes.Buffer
		if err := r.text(&b); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if strings.HasPrefix(line, "::") || strings.ContainsRune(line, '\x1b') {
				t.Errorf("%q: %q", name, line)
			}
		}
		if got, want := strings.Count(b.String(), "\n"), 1+1+len(r.Results); got != want {
			t.Errorf("%q: %d lines, want %d", name, got, want)
		}
	}
}

// TestValidateSize: an object that no API server takes is refused, and one that etcd may not take gets a warning.
func TestValidateSize(t *testing.T) {
	for size, want := range map[int]string{1 << 20: "", 2 << 20: "warning", 4 << 20: "error"} {
		var r report
		r.source("x", fmt.Appendf(nil, `{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: a}, spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [
			{name: tensorflow, image: tf, args: [%s]}]}}}}}}`, strings.Repeat("a", size)))
		got := ""
		if len(r.Results) == 1 && r.Results[0].Code == schema.TooLarge {
			got = r.Results[0].Severity
		}
		if got != want || r.Summary.Documents != 1 || want == "" && len(r.Results) > 0 {
			t.Errorf("%d bytes: %q, want %q: %+v", size, got, want, r.Summary)
		}
	}
}
