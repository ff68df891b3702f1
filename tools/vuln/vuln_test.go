package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
)

// stream is output of govulncheck, with one finding of each sort.
const stream = `{"config": {"scan_level": "symbol"}}
{"progress": {"message": "Fetching vulnerabilities from the database..."}}
{"SBOM": {"roots": ["stoic", "stoic/cli"]}}
{"osv": {"id": "GO-1", "summary": "A module is wrong"}}
{"osv": {"id": "GO-2", "summary": "The standard library was wrong"}}
{"osv": {"id": "GO-3", "summary": "The standard library is wrong"}}
{"osv": {"id": "GO-4", "summary": "Nothing calls this"}}
{"osv": {"id": "GO-5", "summary": "Nobody has repaired this"}}
{"finding": {"osv": "GO-4", "fixed_version": "v1.0.0", "trace": [{"module": "example.org/m", "version": "v0.1.0"}]}}
{"finding": {"osv": "GO-4", "fixed_version": "v1.0.0", "trace": [{"module": "example.org/m", "version": "v0.1.0", "package": "example.org/m/p"}]}}
{"finding": {"osv": "GO-3", "fixed_version": "v1.26.11", "trace": [{"module": "stdlib", "version": "v1.26.8", "package": "net/http", "receiver": "*Client", "function": "Do"}, {"module": "stoic", "package": "stoic", "function": "main"}]}}
{"finding": {"osv": "GO-2", "fixed_version": "v1.26.10", "trace": [{"module": "stdlib", "version": "v1.26.8", "package": "net/http", "function": "Get"}, {"module": "stoic", "package": "stoic", "function": "main"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v0.2.0", "trace": [{"module": "example.org/m", "version": "v0.1.0", "package": "example.org/m/p", "function": "F"}, {"module": "stoic", "package": "stoic/cli", "function": "Run"}]}}
{"finding": {"osv": "GO-1", "fixed_version": "v0.2.0", "trace": [{"module": "example.org/m", "version": "v0.1.0", "package": "example.org/m/p", "function": "G"}, {"module": "stoic", "package": "stoic/cli", "function": "Run"}]}}
{"finding": {"osv": "GO-5", "trace": [{"module": "stdlib", "version": "v1.26.8", "package": "os", "function": "Open"}, {"module": "stoic", "package": "stoic", "function": "main"}]}}
`

func TestReport(t *testing.T) {
	with := compilers{here: "go1.26.8", release: "go1.26.10"}
	r, err := read(strings.NewReader(stream), with)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r.print(&out, with)
	const want = `  VULNERABLE GO-1: A module is wrong (example.org/m v0.1.0, fixed in v0.2.0), called by stoic/cli.Run
  VULNERABLE GO-3: The standard library is wrong (stdlib v1.26.8, fixed in v1.26.11), called by stoic.main
    raise the line toolchain in every go.mod, and GO in the Dockerfile
  VULNERABLE GO-5: Nobody has repaired this (stdlib v1.26.8, fixed in no release), called by stoic.main
    raise the line toolchain in every go.mod, and GO in the Dockerfile
  in go1.26.8 only: GO-2: The standard library was wrong (stdlib v1.26.8, fixed in v1.26.10), called by stoic.main
  No failure: a release is compiled with go1.26.10 (toolchain in go.mod). What is compiled here with go1.26.8 has them; GOTOOLCHAIN=auto compiles as a release.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, wrong := range map[string]string{
		"no packages": `{"config": {"scan_level": "symbol"}}`,
		"no calls":    `{"config": {"scan_level": "module"}} {"SBOM": {"roots": ["stoic"]}}`,
		"nothing":     ``,
		"cut off":     `{"config": {"scan_level": "symbol"}} {"SBOM": {"roots": ["stoic"]}} {"osv"`,
	} {
		if _, err := read(strings.NewReader(wrong), with); err == nil {
			t.Errorf("%s: is taken for an examination", name)
		}
	}
}

func TestAssumed(t *testing.T) {
	for _, c := range []struct{ here, release, want string }{
		{"go1.26.8", "go1.26.10", "go1.26.8"},
		{"go1.26.12", "go1.26.10", "go1.26.10"},
		{"go1.27.0", "go1.26.10", "go1.26.10"},
	} {
		if got := (compilers{here: c.here, release: c.release}).assumed(); got != c.want {
			t.Errorf("here %s, release %s: %s is looked at, want %s", c.here, c.release, got, c.want)
		}
	}
}

// TestExamination: the pinned database reports a known bug in the templates of an old release of Go. It is a failure, unless a release is
// compiled with a newer toolchain.
func TestExamination(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":  "module example.org/old\n\ngo 1.20\n",
		"main.go": "package main\n\nimport (\n\t\"html/template\"\n\t\"os\"\n)\n\nfunc main() {\n\t_ = template.Must(template.New(\"\").Parse(os.Args[1])).Execute(os.Stdout, nil)\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := pinned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for release, fails := range map[string]bool{"go1.20.1": true, "go1.26.10": false} {
		r, err := examine(t.Context(), dir, d, compilers{here: "go1.20.1", release: release})
		if err != nil {
			t.Fatal(err)
		}
		const id = "GO-2023-1703" // a backtick in a template, repaired in go1.20.3
		in := func(list []finding) bool {
			for _, f := range list {
				if f.OSV == id {
					return true
				}
			}
			return false
		}
		if in(r.failures) != fails || in(r.repaired) == fails {
			t.Errorf("release with %s: failures %v, repaired %v", release, r.failures, r.repaired)
		}
	}
}

// TestDatabase: database.mod requires only the database, and the downloaded content matches database.sum.
func TestDatabase(t *testing.T) {
	content, err := os.ReadFile("database.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("database.mod", content, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Require) != 1 || file.Require[0].Mod.Path != "golang.org/x/vulndb" {
		t.Errorf("requires %v", file.Require)
	}
	entries, err := filepath.Glob(filepath.Join(folder(t), "GO-*.json"))
	if err != nil || len(entries) < 4000 {
		t.Errorf("%d entries: %v", len(entries), err)
	}
}

func folder(t *testing.T) string {
	t.Helper()
	d, err := pinned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path, is := strings.CutPrefix(d.address, "file://")
	if !is {
		t.Fatalf("%s is not a folder", d.address)
	}
	return path
}

func TestToolchain(t *testing.T) {
	name, err := toolchain("../../go.mod")
	if err != nil || !regexp.MustCompile(`^go1\.\d+\.\d+$`).MatchString(name) {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := toolchain("database.mod"); err == nil {
		t.Error("a file without a toolchain has one")
	}
}

// TestNotExamined: what cannot be examined is an error, not free of vulnerabilities.
func TestNotExamined(t *testing.T) {
	for _, args := range [][]string{nil, {t.TempDir()}} {
		if err := run(context.Background(), args, &strings.Builder{}); err == nil || errors.Is(err, errVulnerable) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
