package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/convert"
	"stoic/schema"
)

// root is the checkout, seen from this package.
const root = "../.."

// operatorUser is the service account that deploy/rbac binds.
const operatorUser = "system:serviceaccount:kubeflow:training-operator"

// patience bounds every wait for a condition; it is generous because machines are slow, never because a test needs it.
const patience = 90 * time.Second

// stoic is the operator's binary, built with the race detector where that can be.
var stoic string

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("integration tests need a control plane: left out with -short")
		os.Exit(0)
	}
	os.Exit(withBinary(m.Run))
}

// withBinary builds the operator, runs the tests and takes the binary away again.
func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "stoic-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the binary:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	stoic = filepath.Join(dir, "stoic")
	if err := build(stoic, haveCompiler()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// build compiles the operator, with the race detector or without.
func build(file string, race bool) error {
	args := []string{"build", "-o", file, "."}
	if race {
		args = slices.Insert(args, 1, "-race")
	}
	fmt.Println("building the operator: go", strings.Join(args, " "))
	build := exec.Command("go", args...)
	build.Dir = root
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}
	return nil
}

// haveCompiler: the race detector is built with a C compiler.
func haveCompiler() bool {
	name, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return false
	}
	_, err = exec.LookPath(strings.TrimSpace(string(name)))
	return err == nil
}

// rig is one control plane with one shape of the CRD.
type rig struct {
	cluster *cluster.Cluster
	config  *rest.Config // the administrator's
	dynamic dynamic.Interface
	typed   kubernetes.Interface
	kind    *schema.Kind // of the jobs that it reads
	// keepsGeneration: the shape keeps status.observedGeneration.
	keepsGeneration bool
	// structural: the shape says what a spec is; the API server takes nulls away that it does not allow.
	structural bool
	// binary is an operator that is not built as usual, or "".
	binary string
}

// newRig starts a control plane with the open CRD, lets before store what no schema would let in, and then brings
// the CRD into the given shape ("" leaves it open).
func newRig(t *testing.T, shape string, before func(*rig)) *rig {
	t.Helper()
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "test/fixtures/tfjobs-open.yaml")}})
	r.permit(t)
	before(r)
	if shape != "" {
		r.kubectl(t, nil, "replace", "-f", shape)
	}
	return r
}

// bareRig starts a control plane in which nothing of ours is installed, beyond what the options name. The operator's
// user has a kubeconfig called "operator".
func bareRig(t *testing.T, o cluster.Options) *rig {
	t.Helper()
	o.Source, o.Audit, o.Progress = filepath.Join(root, "localcluster"), true, &lines{t: t}
	if o.Users == nil {
		o.Users = map[string]string{}
	}
	o.Users["operator"] = operatorUser
	c, err := cluster.Start(context.Background(), o)
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop the control plane: %v", err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = -1, 0
	return &rig{kind: schema.TFJob(), cluster: c, config: config, dynamic: dynamic.NewForConfigOrDie(config), typed: kubernetes.NewForConfigOrDie(config), keepsGeneration: true}
}

// permit installs the namespace and the permissions that deploy/ gives to the operator.
func (r *rig) permit(t *testing.T) {
	t.Helper()
	r.kubectl(t, nil, "apply", "-f", filepath.Join(root, "deploy/namespace.yaml"))
	r.kubectl(t, nil, "apply", "-f", filepath.Join(root, "deploy/rbac"))
}

// of is the same control plane, for jobs of another kind.
func (r *rig) of(kind *schema.Kind) *rig {
	other := *r
	other.kind = kind
	return &other
}

// awaitEstablished waits until the jobs of a kind can be made. kubectl wait fails of a CRD that has no condition yet.
func (r *rig) awaitEstablished(t *testing.T, kind *schema.Kind) {
	t.Helper()
	await(t, kind.Plural+" to be served", func() (bool, string) {
		out, err := r.tryKubectl(nil, "wait", "--for=condition=Established", "crd/"+kind.Plural+"."+kind.Group, "--timeout=30s")
		return err == nil, out
	})
}

// lines passes a process's progress to the test's log.
type lines struct{ t *testing.T }

func (l *lines) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// kubectl runs kubectl as the administrator and fails the test if it fails.
func (r *rig) kubectl(t *testing.T, in []byte, args ...string) string {
	t.Helper()
	out, err := r.tryKubectl(in, args...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

func (r *rig) tryKubectl(in []byte, args ...string) (string, error) {
	cmd := exec.Command("kubectl", append([]string{"--kubeconfig", r.cluster.Kubeconfig()}, args...)...)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// namespace makes one for a test.
func (r *rig) namespace(t *testing.T, name string) string {
	t.Helper()
	r.kubectl(t, nil, "create", "namespace", name)
	return name
}

// apply gives kubectl a manifest.
func (r *rig) apply(t *testing.T, ns, manifest string) {
	t.Helper()
	r.kubectl(t, []byte(manifest), "-n", ns, "apply", "-f", "-")
}

func (r *rig) jobs(ns string) dynamic.ResourceInterface {
	return r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: r.kind.Group, Version: r.kind.Version, Resource: r.kind.Plural}).Namespace(ns)
}

// head reads a job; nil if there is none.
func (r *rig) head(t *testing.T, ns, name string) *schema.Head {
	t.Helper()
	u := r.raw(t, ns, name)
	if u == nil {
		return nil
	}
	return convert.Object(r.kind, u).Head
}

func (r *rig) raw(t *testing.T, ns, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := r.jobs(ns).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatalf("get job %s/%s: %v", ns, name, err)
	}
	return u
}

// await waits until the condition holds. It says what it saw when it gives up.
func await(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	saw, last := "", ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var ok bool
		if ok, saw = holds(); ok {
			return
		}
		if saw != last {
			last = saw
		}
	}
	t.Fatalf("waited %v for %s; saw %s", patience, what, saw)
}

// awaitState waits until the last condition of a job is of that type, and True.
func (r *rig) awaitState(t *testing.T, ns, name string, want schema.ConditionType) *schema.Head {
	t.Helper()
	var head *schema.Head
	await(t, fmt.Sprintf("job %s/%s to be %s", ns, name, want), func() (bool, string) {
		if head = r.head(t, ns, name); head == nil {
			return false, "no such job"
		}
		if n := len(head.Status.Conditions); n > 0 {
			last := head.Status.Conditions[n-1]
			return last.Type == want && last.Status == metav1.ConditionTrue, describe(&head.Status)
		}
		return false, "no condition"
	})
	return head
}

// describe writes conditions as "Created=True(TFJobCreated) Running=True(TFJobRunning)".
func describe(s *schema.Status) string {
	var parts []string
	for _, c := range s.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s(%s)", c.Type, c.Status, c.Reason))
	}
	return strings.Join(parts, " ")
}

// event is what a test wants to know of one.
type event struct{ Type, Reason, Path, Message string }

// events returns what was told of one object, without repetition counts.
func (r *rig) events(t *testing.T, ns, name string) []event {
	t.Helper()
	list, err := r.typed.CoreV1().Events(ns).List(context.Background(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		t.Fatalf("list events: %v", err)
	}
	var found []event
	for _, e := range list.Items {
		if e.InvolvedObject.Kind == r.kind.Name {
			found = append(found, event{e.Type, e.Reason, e.InvolvedObject.FieldPath, e.Message})
		}
	}
	return found
}

// uids of the pods or services of a job, by name.
func (r *rig) pods(t *testing.T, ns, job string) map[string]string {
	t.Helper()
	list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: schema.LabelJob + "=" + job})
	if err != nil {
		t.Fatalf("list pods: %v", err)
	}
	found := map[string]string{}
	for _, p := range list.Items {
		found[p.Name] = string(p.UID)
	}
	return found
}

// audited is one line of the API server's audit log.
type audited struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject json.RawMessage `json:"requestObject"`
	Received      time.Time       `json:"requestReceivedTimestamp"`
}

// requests of the operator, as the API server saw them.
func (r *rig) requests(t *testing.T) []audited {
	t.Helper()
	return r.requestsOf(t, operatorUser)
}

// requestsOf some users.
func (r *rig) requestsOf(t *testing.T, users ...string) []audited {
	t.Helper()
	text, err := os.ReadFile(r.cluster.AuditLog())
	if err != nil {
		t.Fatalf("read the audit log: %v", err)
	}
	var found []audited
	for line := range bytes.Lines(text) {
		var a audited
		if json.Unmarshal(line, &a) == nil && slices.Contains(users, a.User.Username) {
			found = append(found, a)
		}
	}
	return found
}
