package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"stoic/cli/cluster"
)

// test is what an operator needs of a *testing.T.
type test interface {
	Helper()
	Context() context.Context
	TempDir() string
	Cleanup(func())
	Failed() bool
	Error(...any)
	Fatal(...any)
	Logf(string, ...any)
}

// Store is where a control plane of tests keeps its objects, as STOIC_STORE says (docs/storage.md): etcd if it says nothing. In the URL of a
// database {name} is another one at each call: every control plane has its own.
func Store() string {
	return strings.ReplaceAll(os.Getenv("STOIC_STORE"), "{name}", "stoic_"+strings.ToLower(rand.Text()[:12]))
}

// CRs is who serves custom resources in a control plane of tests, as STOIC_CRS says (docs/storage.md): the API server if it says nothing.
func CRs() string { return os.Getenv("STOIC_CRS") }

// Cluster starts a control plane for a test, and returns it with what reaches it as the administrator, without a limit of
// requests. Unless the options say otherwise the kubeconfig "operator" is that of User.
func Cluster(t test, o cluster.Options) (*cluster.Cluster, *rest.Config) {
	t.Helper()
	if o.Users["operator"] == "" {
		users := map[string]string{"operator": User}
		maps.Copy(users, o.Users)
		o.Users = users
	}
	o.Store, o.CRs = Store(), cmp.Or(o.CRs, CRs())
	c, err := cluster.Start(context.Background(), o)
	if err != nil {
		t.Fatal("start a control plane:", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error("stop the control plane:", err)
		}
	})
	config, err := AdminConfig(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return c, config
}

// Await waits until a condition holds, and fails the test with what it saw last if it does not within a limit.
func Await(t test, limit time.Duration, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	saw := ""
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, saw = holds(); ok {
			return
		}
	}
	t.Fatal(fmt.Sprintf("waited %v for %s; saw %s", limit, what, saw))
}

// OutsideMake is the environment of a command whose make is one that a person starts: without the options and variables of the make that
// runs the test, and without the cgo that the race detector needs: what is compiled without it is in the build cache.
func OutsideMake() []string {
	return append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "MAKEFLAGS" || name == "MFLAGS" || name == "MAKELEVEL"
	}), "CGO_ENABLED=0")
}

// Overlay writes a kustomization outside of a folder, and returns where; $ in its text stands for the folder.
func Overlay(t test, folder, text string) (dir string) {
	t.Helper()
	here, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Rel(dir, here)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(text, "$", from)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Built is the file of our operator, built for a test alone with flags of go build.
func Built(t test, root string, flags ...string) (file string) {
	t.Helper()
	programs := Programs{Root: root, Dir: t.TempDir()}
	file, err := programs.Build(t.Context(), ".", flags...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// InTest starts an operator as Started does, and waits until it is ready.
func InTest(t test, o Options) *Process {
	t.Helper()
	p := Started(t, o)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // machines are slow
	defer cancel()
	if err := p.AwaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return p
}

// Started starts an operator with a log of its own. When the test ends it is stopped as Kubernetes stops it, and must end with exit
// code 0 and without a panic or a race.
func Started(t test, o Options) *Process {
	t.Helper()
	o.Log = filepath.Join(t.TempDir(), "operator.log")
	p, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(context.Background()); err != nil {
			t.Error(err)
		} else if t.Failed() {
			t.Logf("the operator's log ends:\n%s", p.Tail())
		}
	})
	return p
}
