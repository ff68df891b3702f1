//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/test/e2e/node"
	"stoic/test/e2e/supplies"
)

// jobTimeout is how long a job of seconds may take on a busy machine.
const jobTimeout = 5 * time.Minute

// system is a cluster in which the operator is installed.
type system struct {
	node     *node.Node
	supplies *supplies.Supplies
	root     string // of this module
	dir      string // for what a test writes
}

// demand skips the test without the variable of `make e2e`, and fails where that cannot work.
func demand(t *testing.T) {
	t.Helper()
	if os.Getenv("STOIC_E2E") == "" {
		t.Skip("a real node takes root, Debian and a quarter of an hour for its first start: make e2e")
	}
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, program := range []string{"apt-get", "dpkg-deb", "perl", "ip", "mount", "unshare", "nsenter", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, "the program "+program)
		}
	}
	if len(missing) > 0 {
		t.Fatalf("a real node needs %s", strings.Join(missing, ", "))
	}
}

// begin starts a node and installs the operator as a user does, with the images of this checkout.
func begin(t *testing.T) *system {
	t.Helper()
	demand(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &system{root: root, dir: t.TempDir()}
	if s.supplies, err = supplies.Prepare(t.Context(), root, os.Stderr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.supplies.Release(); err != nil {
			t.Error(err)
		}
	})
	// The context of a test ends before its cleanups, which need the cluster.
	if s.node, err = node.Start(context.WithoutCancel(t.Context()), s.supplies, os.Stderr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.show(t, "kubeflow")
		}
		if err := s.node.Stop(); err != nil {
			t.Error(err)
		}
	})
	if s.supplies.Before != "" {
		s.install(t, filepath.Join(s.supplies.Before, "deploy"), supplies.Earlier)
	} else {
		s.install(t, filepath.Join(root, "deploy"), supplies.Operator)
	}
	return s
}

const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
images: [{name: stoic, newName: %s, newTag: %q}]
patches:
  - target: {kind: Namespace, name: kubeflow}
    patch: |
      - {op: add, path: /metadata/labels, value: {pod-security.kubernetes.io/enforce: restricted}}
  - target: {kind: Deployment, name: training-operator}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --mpi-kubectl-delivery-image=%s}
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --pytorch-init-container-image=%s}
`

// install installs an operator from a folder of manifests, in a namespace that admits only restricted pods.
func (s *system) install(t *testing.T, manifests, operator string) {
	t.Helper()
	deploy, err := filepath.Rel(s.dir, manifests)
	if err != nil {
		t.Fatal(err)
	}
	image, tag := supplies.Split(operator)
	if err := os.WriteFile(filepath.Join(s.dir, "kustomization.yaml"), fmt.Appendf(nil, overlay, deploy, image, tag, supplies.Delivery, supplies.Torch), 0o600); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "", "apply", "-k", s.dir)
	s.kubectl(t, "", "rollout", "status", "deployment/training-operator", "--namespace=kubeflow", "--timeout=3m")
}

// kubectl runs a command as the cluster's admin.
func (s *system) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, err := s.try(input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *system) try(input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.node.Context(), jobTimeout)
	defer cancel()
	c := s.node.Kubectl(ctx, args...)
	var out, talk strings.Builder
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &out, &talk
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, talk.String())
	}
	return out.String(), nil
}

// namespace creates a namespace for a test.
func (s *system) namespace(t *testing.T, name string) string {
	t.Helper()
	s.kubectl(t, "", "create", "namespace", name)
	return name
}

// job is the part of a job that tests wait for.
type job struct {
	Status struct {
		Conditions []struct{ Type, Status, Reason, Message string }
	}
}

func (j job) is(condition string) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == condition {
			return c.Status == "True"
		}
	}
	return false
}

// succeeds waits for the end of a job, which must be success.
func (s *system) succeeds(t *testing.T, namespace, object string) {
	t.Helper()
	if end := s.ends(t, namespace, object); !end.is("Succeeded") {
		s.show(t, namespace)
		t.Fatalf("%s has failed: %+v", object, end.Status.Conditions)
	}
}

// ends follows a job to its end.
func (s *system) ends(t *testing.T, namespace, object string) (last job) {
	t.Helper()
	s.await(t, namespace, object+" to end", func() (bool, string) {
		text, err := s.try("", "get", object, "--namespace="+namespace, "--output=json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &last)
		}
		return err == nil && (last.is("Succeeded") || last.is("Failed")), fmt.Sprint(last.Status.Conditions, err)
	})
	return last
}

// lines returns the lines of a log that begin with a word, sorted.
func (s *system) lines(t *testing.T, namespace, of, word string) []string {
	t.Helper()
	var found []string
	for line := range strings.Lines(s.kubectl(t, "", "logs", "--namespace="+namespace, of)) {
		if strings.HasPrefix(line, word) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	slices.Sort(found)
	return found
}

// says waits until so many lines of the log of a pod end with a text.
func (s *system) says(t *testing.T, namespace, pod, suffix string, times int) {
	t.Helper()
	s.await(t, namespace, fmt.Sprintf("%s to say %q", pod, suffix), func() (bool, string) {
		log, err := s.try("", "logs", "--namespace="+namespace, pod)
		return err == nil && strings.Count(log, suffix) >= times, log
	})
}

// show prints what is known of a namespace in which a test has failed.
func (s *system) show(t *testing.T, namespace string) {
	t.Helper()
	for _, command := range [][]string{
		{"get", "pods,jobs,events", "--output=wide"},
		{"describe", "pods"},
		{"logs", "--selector=training.kubeflow.org/job-name", "--all-containers", "--prefix", "--tail=40", "--ignore-errors"},
		{"logs", "--selector=control-plane=kubeflow-training-operator", "--prefix", "--tail=60", "--ignore-errors"},
	} {
		out, err := s.try("", append(command, "--namespace="+namespace)...)
		t.Logf("kubectl %s (%v)\n%s", strings.Join(command, " "), err, out)
	}
}
