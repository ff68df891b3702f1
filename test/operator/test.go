package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"stoic/cli/cluster"
)

// test is the part of a *testing.T that an operator needs.
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

// Store returns where a control plane of tests keeps its objects, according to STOIC_STORE (docs/storage.md): etcd if it is
// empty. {name} in the URL of a database is replaced by another name at each call: every control plane has its own.
func Store() string {
	return strings.ReplaceAll(os.Getenv("STOIC_STORE"), "{name}", "stoic_"+strings.ToLower(rand.Text()[:12]))
}

// CRs returns which server serves custom resources in a control plane of tests, according to STOIC_CRS (docs/storage.md): the API
// server if it is empty.
func CRs() string { return os.Getenv("STOIC_CRS") }

// starting is held while a control plane starts. That takes all processors for some seconds and has a limit, so one starts after the other.
var starting sync.Mutex

// StartCluster starts a control plane for tests, and returns it with the administrator's configuration, without a rate limit.
// Unless the options say otherwise, the kubeconfig "operator" is that of User.
func StartCluster(o cluster.Options) (*cluster.Cluster, *rest.Config, error) {
	if o.Users["operator"] == "" {
		users := map[string]string{"operator": User}
		maps.Copy(users, o.Users)
		o.Users = users
	}
	o.Store, o.CRs = Store(), cmp.Or(o.CRs, CRs())
	starting.Lock()
	defer starting.Unlock()
	c, err := cluster.Start(context.Background(), o)
	if err != nil {
		return nil, nil, fmt.Errorf("start a control plane: %w", err)
	}
	config, err := AdminConfig(c.Kubeconfig())
	if err != nil {
		return nil, nil, errors.Join(err, c.Stop())
	}
	return c, config, nil
}

// Cluster is StartCluster for one test, which stops it when it ends.
func Cluster(t test, o cluster.Options) (*cluster.Cluster, *rest.Config) {
	t.Helper()
	c, config, err := StartCluster(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error("stop the control plane:", err)
		}
	})
	return c, config
}

// OutsideMake returns the environment for a command that runs make as a user would: without the options and variables of the make
// that runs the test, and without the cgo that the race detector needs, as the build cache has what is compiled without it.
func OutsideMake() []string {
	return append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == "MAKEFLAGS" || name == "MFLAGS" || name == "MAKELEVEL"
	}), "CGO_ENABLED=0")
}

// Overlay writes a kustomization outside of a folder, and returns its directory; $ in its text is replaced by the folder.
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

// Built builds our operator for a single test, with flags of go build, and returns the file.
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

// Started starts an operator with a separate log. When the test ends the operator is stopped as Kubernetes stops it, and must end
// with exit code 0 and without a panic or a race.
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
