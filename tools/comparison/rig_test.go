package comparison

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

const (
	root = "../.."
	// patience bounds every wait for a condition; it is generous because machines are slow.
	patience = 3 * time.Minute
)

// rig is a control plane that accepts any Foo, and the programs.
type rig struct {
	cluster  *cluster.Cluster
	typed    kubernetes.Interface
	programs operator.Programs
}

func newRig(t *testing.T) *rig {
	t.Helper()
	generate(t)
	crd, err := filepath.Abs("crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, config := operator.Cluster(t, cluster.Options{Source: filepath.Join(root, "localcluster"), Nodes: -1, CRDs: []string{crd}, Progress: t.Output()})
	return &rig{cluster: c, typed: kubernetes.NewForConfigOrDie(config), programs: operator.Programs{Root: ".", Dir: t.TempDir()}}
}

// generated runs go generate once, for all tests.
var generated = sync.OnceValue(func() error { return runGo("generate", "./...") })

func generate(t *testing.T) {
	t.Helper()
	if err := generated(); err != nil {
		t.Fatal(err)
	}
}

// runGo runs the go command in this folder.
func runGo(args ...string) error {
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (r *rig) kubectl(t *testing.T, in string, args ...string) string {
	t.Helper()
	out, err := operator.Kubectl(context.Background(), r.cluster.Kubeconfig(), []byte(in), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// foo stores a Foo; replicas is JSON. Its Deployment has the same name.
func (r *rig) foo(t *testing.T, namespace, name, replicas string) {
	t.Helper()
	r.kubectl(t, fmt.Sprintf("apiVersion: comparison.example.com/v1\nkind: Foo\nmetadata: {name: %s}\nspec: {deploymentName: %s, replicas: %s}\n", name, name, replicas),
		"-n", namespace, "apply", "-f", "-")
}

func (r *rig) build(t *testing.T, program string) (file string) {
	t.Helper()
	file, err := r.programs.Build(context.Background(), "./"+program)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// replicas returns spec.replicas of a Deployment; -1 if there is none.
func (r *rig) replicas(t *testing.T, namespace, name string) int32 {
	t.Helper()
	d, err := r.typed.AppsV1().Deployments(namespace).Get(context.Background(), name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return -1
	case err != nil:
		t.Fatal(err)
	case d.Spec.Replicas == nil:
		return -2
	}
	return *d.Spec.Replicas
}

func (r *rig) awaitReplicas(t *testing.T, namespace, name string, want int32) {
	t.Helper()
	await(t, fmt.Sprintf("Deployment %s/%s with %d replicas", namespace, name, want), func() (bool, string) {
		got := r.replicas(t, namespace, name)
		return got == want, fmt.Sprintf("found %d", got)
	})
}

// mustHave checks the Deployment once, at a time when the program has had its chance.
func (r *rig) mustHave(t *testing.T, namespace, name string, want int32) {
	t.Helper()
	if got := r.replicas(t, namespace, name); got != want {
		t.Errorf("Deployment %s/%s has %d replicas, want %d", namespace, name, got, want)
	}
}

// await waits until the condition holds. It reports what it saw when it gives up.
func await(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	operator.Await(t, patience, what, holds)
}

// process is a running program of this module.
type process struct {
	*operator.Process
	t *testing.T
}

// start starts a built program. Flags are those besides --kubeconfig.
func (r *rig) start(t *testing.T, file string, flags ...string) *process {
	t.Helper()
	p, err := operator.Start(operator.Options{Command: append([]string{file, "--kubeconfig", "{kubeconfig}"}, flags...), Kubeconfig: r.cluster.Kubeconfig(), Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.Alive() {
			_ = p.Kill()
		}
		if t.Failed() {
			t.Logf("the log ends:\n%s", p.Tail())
		}
	})
	return &process{p, t}
}

// stop stops the process as Kubernetes does.
func (p *process) stop() {
	p.t.Helper()
	if err := p.Stop(context.Background()); err != nil {
		p.t.Fatal(err)
	}
}

// awaitLines waits until the log has more lines that match than before, by the given number. It returns the last one.
func (p *process) awaitLines(pattern *regexp.Regexp, before, more int) (line string) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%d lines of the log that match %s", before+more, pattern), func() (bool, string) {
		lines := p.lines(pattern)
		if len(lines) < before+more {
			return false, p.Tail()
		}
		line = lines[len(lines)-1]
		return true, ""
	})
	return line
}

func (p *process) lines(pattern *regexp.Regexp) (found []string) {
	for line := range strings.Lines(p.Text()) {
		if line = strings.TrimSpace(line); pattern.MatchString(line) {
			found = append(found, line)
		}
	}
	return found
}
