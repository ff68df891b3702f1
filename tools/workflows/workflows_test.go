package workflows

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const root = "../.."

// workflow has the fields that the tests read.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]job
}

type job struct {
	Uses        string
	Timeout     int `yaml:"timeout-minutes"`
	Permissions map[string]string
	Strategy    struct{ Matrix map[string][]string }
	Container   struct{ Image string }
	Steps       []step
}

type step struct {
	Uses, Run string
	With      map[string]string
}

func texts(t *testing.T) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(path)] = text
	}
	return found
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	found := map[string]workflow{}
	for name, text := range texts(t) {
		var w workflow
		if err := yaml.Unmarshal(text, &w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[name] = w
	}
	return found
}

// TestCommands: each make command of a workflow is a target, and each variable that it sets is one of the Makefile.
func TestCommands(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`(?m)(?:^|[;&|]\s*)make( [^\n;&|]+)`)
	setting := regexp.MustCompile(`([A-Z]+)=`)
	target := regexp.MustCompile(`^ ([a-z0-9-]+)`)
	calls := 0
	for name, w := range workflows(t) {
		for _, j := range w.Jobs {
			commands := slices.Concat(j.Strategy.Matrix["run"])
			for _, s := range j.Steps {
				commands = append(commands, s.Run)
			}
			for _, found := range call.FindAllStringSubmatch(strings.Join(commands, "\n"), -1) {
				calls++
				if to := target.FindStringSubmatch(found[1]); to == nil || !strings.Contains(string(makefile), "\n"+to[1]+":") {
					t.Errorf("%s runs make%s: no such target", name, found[1])
				}
				for _, v := range setting.FindAllStringSubmatch(found[1], -1) {
					if !strings.Contains(string(makefile), "\n"+v[1]+" ?=") {
						t.Errorf("%s runs make%s: the Makefile has no variable %s", name, found[1], v[1])
					}
				}
			}
		}
	}
	if calls < 6 {
		t.Errorf("found %d calls of make", calls)
	}
	if info, err := os.Stat(filepath.Join(root, ".ci/run")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("CI runs .ci/run: %v", err)
	}
}

// TestGoVersion: go.mod names the Go version that compiles a release. The other modules and the Dockerfile have the same, and workflows
// read it from go.mod.
func TestGoVersion(t *testing.T) {
	toolchain := regexp.MustCompile(`(?m)^toolchain go((\d+\.\d+)\.\d+)$`)
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	said := toolchain.FindStringSubmatch(read(filepath.Join(root, "go.mod")))
	if said == nil {
		t.Fatal("go.mod has no line toolchain")
	}
	release, minor := said[1], said[2]
	modules := 0
	for _, pattern := range []string{"*/*.mod", "*/*/*.mod", "*/*/*/*.mod"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if filepath.Base(path) == "vulndb.mod" { // nothing is compiled with it
				continue
			}
			modules++
			if own := toolchain.FindStringSubmatch(read(path)); own == nil || own[1] != release {
				t.Errorf("%s must have toolchain go%s, as go.mod has", path, release)
			}
		}
	}
	if modules < 6 {
		t.Errorf("found %d modules", modules)
	}
	if !strings.Contains(read(filepath.Join(root, "Dockerfile")), "\nARG GO=golang:"+release+"\n") {
		t.Errorf("the Dockerfile must compile with golang:%s, as go.mod says", release)
	}
	for name, w := range workflows(t) {
		for id, j := range w.Jobs {
			if image := j.Container.Image; image != "" && image != "golang:"+minor+"-bookworm" {
				t.Errorf("%s, %s: runs in %s; go.mod asks for %s", name, id, image, minor)
			}
			for _, s := range j.Steps {
				if strings.HasPrefix(s.Uses, "actions/setup-go@") && (s.With["go-version-file"] != "go.mod" || s.With["go-version"] != "") {
					t.Errorf("%s, %s: must take the release of Go from go.mod: %v", name, id, s.With)
				}
			}
		}
	}
}

// TestPermissions: a workflow may only read; jobs with more permissions are listed here.
func TestPermissions(t *testing.T) {
	more := map[string]string{
		"codeql.yaml analyze":  "security-events",
		"release.yaml image":   "attestations id-token packages",
		"release.yaml chart":   "attestations id-token packages",
		"release.yaml release": "contents",
	}
	for name, w := range workflows(t) {
		if diff := cmp.Diff(map[string]string{"contents": "read"}, w.Permissions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for id, j := range w.Jobs {
			var writes []string
			for what, how := range j.Permissions {
				if how == "write" {
					writes = append(writes, what)
				}
			}
			slices.Sort(writes)
			if want := more[name+" "+id]; strings.Join(writes, " ") != want {
				t.Errorf("%s, %s may write %v, want %q", name, id, writes, want)
			}
			delete(more, name+" "+id)
			if j.Timeout == 0 && j.Uses == "" {
				t.Errorf("%s, %s has no timeout", name, id)
			}
			for _, s := range j.Steps {
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					t.Errorf("%s, %s: the token stays in the checkout", name, id)
				}
			}
		}
	}
	if len(more) > 0 {
		t.Errorf("no such jobs: %v", more)
	}
}

// TestActionsArePinned: each action is pinned by a commit, which cannot be moved, with the release beside it for whoever updates it. One
// action has the same commit everywhere.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^([a-z-]+/[a-z-]+)(?:/[a-z-]+)?@([0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	commits, found := map[string]string{}, 0
	for name, text := range texts(t) {
		for _, use := range regexp.MustCompile(`(?m)^\s*(?:- )?uses: (.*)$`).FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(use[1], "./") {
				continue
			}
			found++
			parts := pinned.FindStringSubmatch(use[1])
			if parts == nil {
				t.Errorf("%s uses %s: must be ACTION@COMMIT # vX.Y.Z", name, use[1])
				continue
			}
			if other := commits[parts[1]]; other != "" && other != parts[2] {
				t.Errorf("%s uses %s as %s, and elsewhere %s", name, parts[1], parts[2], other)
			}
			commits[parts[1]] = parts[2]
		}
	}
	if found < 15 {
		t.Errorf("found %d uses", found)
	}
}
