package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const goodMain = "package main\n\nfunc main() { println(\"it works\") }\n"

// transcript collects progress from any number of builds.
type transcript struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (p *transcript) Write(text []byte) (int, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.text.Write(text)
}

func (p *transcript) count(text string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return strings.Count(p.text.String(), text)
}

// tinyModule makes a module that resembles localcluster's and builds within moments, and a cache directory of its own.
func tinyModule(t *testing.T) string {
	t.Helper()
	// The compiler's cache must stay where it is, else the build is slow.
	output, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(output)))
	t.Setenv("GOPROXY", "off")
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	if runtime.GOOS != "linux" {
		t.Setenv("HOME", home)
	}
	source := filepath.Join(t.TempDir(), "localcluster")
	write(t, filepath.Join(source, "go.mod"), moduleLine+"\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.2.3\n")
	write(t, filepath.Join(source, "main.go"), goodMain)
	return source
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func buildOnce(t *testing.T, source string, progress *transcript) string {
	t.Helper()
	path, err := Build(t.Context(), Options{Source: source, Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBuildHappensOncePerSource(t *testing.T) {
	source := tinyModule(t)
	var progress transcript
	first := buildOnce(t, source, &progress)
	if output, err := exec.Command(first).CombinedOutput(); err != nil || string(output) != "it works\n" {
		t.Fatalf("the binary says %q (%v)", output, err)
	}
	write(t, filepath.Join(source, "main_test.go"), "package main\n")
	write(t, filepath.Join(source, "README.md"), "notes")
	if again := buildOnce(t, source, &progress); again != first || progress.count("building the local control plane (Kubernetes v1.2.3)") != 1 {
		t.Errorf("a change that does not matter led to a build: %s", progress.text.String())
	}
	write(t, filepath.Join(source, "main.go"), goodMain+"// changed\n")
	if other := buildOnce(t, source, &progress); other == first {
		t.Error("changed sources have the binary of the old ones")
	}
}

func TestOldBinariesAreRemoved(t *testing.T) {
	source := tinyModule(t)
	path := buildOnce(t, source, &transcript{})
	cache := filepath.Dir(filepath.Dir(path))
	for i := range kept + 1 {
		older := filepath.Join(cache, fmt.Sprint("older-", i))
		write(t, filepath.Join(older, filepath.Base(path)), "")
		age := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(older, age, age); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(source, "main.go"), goodMain+"// changed\n")
	now := buildOnce(t, source, &transcript{})
	left, err := filepath.Glob(filepath.Join(cache, "*", filepath.Base(path)))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != kept || !slices.Contains(left, path) || !slices.Contains(left, now) || !slices.Contains(left, filepath.Join(cache, fmt.Sprint("older-", kept), filepath.Base(path))) {
		t.Errorf("left are %v, want the last %d", left, kept)
	}
}

func TestParallelBuildsShareOne(t *testing.T) {
	source := tinyModule(t)
	var progress transcript
	var builders sync.WaitGroup
	for range 4 {
		builders.Go(func() {
			if _, err := Build(t.Context(), Options{Source: source, Progress: &progress}); err != nil {
				t.Error(err)
			}
		})
	}
	builders.Wait()
	if count := progress.count("building the local control plane"); count != 1 {
		t.Errorf("%d builds, want 1:\n%s", count, progress.text.String())
	}
}

func TestFailedBuildSaysWhyAndLeavesNothing(t *testing.T) {
	source := tinyModule(t)
	write(t, filepath.Join(source, "main.go"), "package main\n\nfunc main() { nonsense() }\n")
	_, err := Build(t.Context(), Options{Source: source})
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "stoic", "localcluster", "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestSourcesThatChangeDuringTheBuild(t *testing.T) {
	source := tinyModule(t)
	b, err := Options{Source: source}.plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(source, "main.go"), goodMain+"// edited meanwhile\n")
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "changed during the build") {
		t.Errorf("got %v", err)
	}
	if b.exists() {
		t.Error("a binary of unknown sources was kept")
	}
}

func TestMissingSourcesAndMissingGo(t *testing.T) {
	source := tinyModule(t)
	nested := filepath.Join(filepath.Dir(source), "a", "b")
	write(t, filepath.Join(nested, "file"), "")
	t.Chdir(nested)
	if found, err := (Options{}).findSource(t.Context()); err != nil || filepath.Base(found) != "localcluster" {
		t.Errorf("from %s found %q (%v)", nested, found, err)
	}
	operator := t.TempDir()
	write(t, filepath.Join(filepath.Dir(source), "go.mod"), "module stoic\n")
	write(t, filepath.Join(operator, "go.mod"), "module x\n\nrequire stoic v0.0.0\n\nreplace stoic => "+filepath.Dir(source)+"\n")
	t.Chdir(operator)
	if found, err := (Options{}).findSource(t.Context()); err != nil || found != source {
		t.Errorf("from a module that requires the engine found %q (%v), want %q", found, err, source)
	}
	t.Chdir(t.TempDir())
	if _, err := Build(t.Context(), Options{}); !errors.Is(err, ErrNoSource) {
		t.Errorf("without sources: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.Context(), Options{Source: source}); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("without go: %v", err)
	}
}

func TestFingerprintCoversEverythingThatMatters(t *testing.T) {
	source := tinyModule(t)
	seen := map[string]string{}
	check := func(what string, values ...string) {
		t.Helper()
		id, err := fingerprint(source, ownModfile, values...)
		if err != nil {
			t.Fatal(err)
		}
		if before, found := seen[id]; found {
			t.Errorf("%s gives the same fingerprint as %s", what, before)
		}
		seen[id] = what
	}
	check("the original", "go1", "linux")
	check("another compiler", "go2", "linux")
	check("a moved border", "go1l", "inux")
	for _, file := range []string{"go.mod", "go.sum", "new.go", "sub/stages.yaml"} {
		write(t, filepath.Join(source, filepath.FromSlash(file)), moduleLine+"\n")
		check("a change of "+file, "go1", "linux")
	}
	write(t, filepath.Join(source, "other", "go.mod"), "module other\n")
	check("a change of go.mod, with another module below", "go3", "linux")
	write(t, filepath.Join(source, "other", "main.go"), "package main\n")
	if id, err := fingerprint(source, ownModfile, "go3", "linux"); err != nil || seen[id] == "" {
		t.Errorf("a change of a module below gives another fingerprint (%v)", err)
	}
}

func TestCheckStore(t *testing.T) {
	for store, want := range map[string]string{
		"": "", "etcd": "", "kine": "", "postgres://u:p@127.0.0.1/kine?sslmode=disable": "", "postgresql://h/d": "", "mysql://u:p@tcp(127.0.0.1:3306)/kine": "",
		"redis":             "must be etcd, kine, postgres://... or mysql://...",
		"postgres":          "must be etcd, kine, postgres://... or mysql://...",
		"postgres://":       "must be etcd, kine, postgres://... or mysql://...",
		"nats://u:secret@h": `found "nats"://..., must be etcd, kine, postgres://... or mysql://...`,
	} {
		got := ""
		if err := CheckStore(store); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", store, got, want)
		}
	}
}

// TestAnotherRelease: each release has its own binary. A change of the modules of one release does not rebuild another.
func TestAnotherRelease(t *testing.T) {
	source := tinyModule(t)
	var progress transcript
	own := buildOnce(t, source, &progress)
	const other = "module stoic/localcluster\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.1.9\n"
	write(t, filepath.Join(source, "kubernetes-1.1.mod"), other)
	write(t, filepath.Join(source, "kubernetes-1.1.sum"), "")
	if again := buildOnce(t, source, &progress); again != own {
		t.Error("modules of another release led to a build")
	}
	options := Options{Source: source, Kubernetes: "1.1", Progress: &progress}
	path, err := Build(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if path == own || progress.count("building the local control plane (Kubernetes v1.1.9)") != 1 {
		t.Errorf("no binary of the other release: %s", progress.text.String())
	}
	write(t, filepath.Join(source, "go.sum"), "\n")
	if again, err := Build(t.Context(), options); err != nil || again != path {
		t.Errorf("sums of the own release led to a build of the other: %v", err)
	}
	options.Kubernetes = "1.0"
	if _, err := Build(t.Context(), options); err == nil || !strings.Contains(err.Error(), "there are go.mod, kubernetes-1.1.mod") {
		t.Errorf("a release that is not there: %v", err)
	}
}

func TestArguments(t *testing.T) {
	o := Options{Users: map[string]string{"b": "bob", "a": "alice:x"}, CRDs: []string{"crd"}, Audit: true, History: true, GangScheduling: true, Strict: true}
	got := strings.Join(o.arguments("/d", ""), " ")
	if want := "up --dir /d --nodes 3 --user a=alice:x --user b=bob --crd crd --audit --history --gang-scheduling --strict --temporary"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := strings.Join(Options{Dir: "/d", Nodes: -1, Store: StoreKine}.arguments("/d", "/k"), " "); got != "up --dir /d --nodes 0 --store kine --store-program /k" {
		t.Errorf("got %s", got)
	}
	if got := strings.Join(Options{Dir: "/d", Nodes: -1}.arguments("/d", ""), " "); got != "up --dir /d --nodes 0" {
		t.Errorf("got %s", got)
	}
}
