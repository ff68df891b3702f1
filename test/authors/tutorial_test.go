package authors

import (
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	root = "../.."
	page = root + "/docs/authors.md"
)

// tutorial returns the steps of the page.
func tutorial(t *testing.T) []Step {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Parse(string(text), "A tutorial")
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if len(steps) != 8 {
		t.Fatalf("%s has %d steps", page, len(steps))
	}
	return steps
}

// folders returns the reader's files after each step.
func folders(t *testing.T, steps []Step) (all []Folder) {
	t.Helper()
	f := Folder{}
	for _, s := range steps {
		for _, b := range s.Blocks {
			if err := f.Take(b); err != nil {
				t.Fatalf("%s:%d: %v", page, b.Line, err)
			}
		}
		now := Folder{}
		for name, text := range f {
			now[name] = text
		}
		all = append(all, now)
	}
	return all
}

// TestPage: every Go file is formatted after each step, and the operator at the end is not longer than the example.
func TestPage(t *testing.T) {
	all := folders(t, tutorial(t))
	for i, f := range all {
		for name, text := range f {
			if filepath.Ext(name) != ".go" {
				continue
			}
			formatted, err := format.Source([]byte(text))
			if err != nil {
				t.Fatalf("step %d: %s: %v", i+1, name, err)
			}
			if diff := cmp.Diff(string(formatted), text); diff != "" {
				t.Errorf("step %d: %s (-formatted +page):\n%s", i+1, name, diff)
			}
		}
	}
	n, err := all[len(all)-1].Lines("decide.go", "cmd/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d lines beside types and tests", n); n > 200 {
		t.Errorf("%d lines", n)
	}
}

func TestParse(t *testing.T) {
	const text = "## Other\n### No\n```go\n// x.go\n```\n## A tutorial: x\n```sh\nbefore any step\n```\n### 1. One\ntext\n```go\n// a/b.go\npackage b\n```\n" +
		"```console\n$ ls\na\n\nb\n$ pwd\n```\n### 2. Two\n```sh\n# stays\nrun\nwait\n```\n```yaml\n# c.yaml\nd: 1\n```\n## Next\n### 3. No\n"
	want := []Step{
		{"1. One", []Block{{Line: 13, File: "a/b.go", Text: "package b\n"}, {Line: 17, Commands: []Command{{"ls", "a\n\nb\n"}, {"pwd", ""}}}}},
		{"2. Two", []Block{{Line: 25, Script: "run\nwait", Stays: true}, {Line: 30, File: "c.yaml", Text: "d: 1\n"}}},
	}
	got, err := Parse(text, "A tutorial")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, wrong := range []string{"```go\npackage a\n```", "```go\n// what is this\n```", "```python\nx\n```", "```console\nls\n```"} {
		if _, err := Parse("## A tutorial\n### 1.\n"+wrong+"\n", "A tutorial"); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestReplace(t *testing.T) {
	const before = "package a\n\nimport (\n\t\"fmt\"\n)\n\n// A says it.\nfunc A() { fmt.Println() }\n\nconst (\n\tb = 1 // one\n\tc = 2\n)\n\ntype d int\n"
	f := Folder{"a.go": before}
	if err := f.Take(Block{File: "a.go", Text: "import \"os\"\n\n// A ends.\nfunc A() { os.Exit(b) }\n\ntype d string\n\n// E is new.\nvar e = fmt.Sprint(c)\n"}); err != nil {
		t.Fatal(err)
	}
	want := "package a\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\n// A ends.\nfunc A() { os.Exit(b) }\n\nconst (\n\tb = 1 // one\n\tc = 2\n)\n\ntype d string\n\n// E is new.\nvar e = fmt.Sprint(c)\n"
	if diff := cmp.Diff(want, f["a.go"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, b := range map[string]Block{"no file": {File: "b.go", Text: "var x int\n"}, "no Go": {File: "a.go", Text: "nonsense\n"}} {
		if err := f.Take(b); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if err := f.Take(Block{File: "c.yaml", Text: "a: 1\n"}); err != nil || f["c.yaml"] != "a: 1\n" {
		t.Errorf("a file that is not Go: %v, %v", err, f)
	}
	const commented = "// Package d has a comment.\npackage d\n"
	if err := f.Take(Block{File: "d.go", Text: commented}); err != nil || f["d.go"] != commented {
		t.Errorf("a file with a comment above its package: %v, %q", err, f["d.go"])
	}
	dir := t.TempDir()
	if err := (Folder{"x/y.go": "package x\n"}).WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "x", "y.go")); err != nil || !strings.HasPrefix(string(text), "package x") {
		t.Errorf("written: %s, %v", text, err)
	}
}
