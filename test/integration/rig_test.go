package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"stoic/cli/cluster"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

// root is the checkout, relative to this package.
const root = "../.."

// patience bounds every wait for a condition; it is generous because machines are slow, never because a test needs it.
const patience = 3 * time.Minute

// programs are what the tests start. TestMain gives them a folder.
var programs = operator.Programs{Root: root}

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("integration tests need a control plane: left out with -short")
		os.Exit(0)
	}
	var err error
	if programs.Dir, err = os.MkdirTemp("", "stoic-integration-"); err != nil {
		fmt.Fprintln(os.Stderr, "make a folder for the binaries:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := errors.Join(plain.stop(), operated.stop()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the control planes that tests share:", err)
		code = 1
	}
	os.RemoveAll(programs.Dir)
	os.Exit(code)
}

// build builds a main package of the checkout with flags of go build.
func build(t *testing.T, program string, flags ...string) (file string) {
	t.Helper()
	file, err := programs.Build(context.Background(), program, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// raceDetector returns the flag of go build for it, in the tests of make check and if there is a C compiler, which it needs.
func raceDetector() []string {
	if !isFull() {
		return nil
	}
	name, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		return nil
	}
	if _, err := exec.LookPath(strings.TrimSpace(string(name))); err != nil {
		return nil
	}
	return []string{"-race"}
}

// rig is one control plane with one shape of the CRD.
type rig struct {
	cluster *cluster.Cluster
	config  *rest.Config // the administrator's
	dynamic dynamic.Interface
	typed   kubernetes.Interface
	mapper  meta.ResettableRESTMapper
	kind    *training.Kind // of the jobs that it reads
	// common is the operator that serves all namespaces, if there is one.
	common *process
	// keepsGeneration: the shape does not prune status.observedGeneration.
	keepsGeneration bool
	// structural: the shape has a schema of the spec; the API server removes nulls that it does not allow.
	structural bool
	// flags of go build for the operator: the race detector.
	flags []string
	log   *auditLog
}

// sized returns how many objects a test of large numbers creates: some at each change, and more if STOIC_LARGE is set, as in the
// nightly run. The assertions are the same.
func sized(some, large int) int {
	if os.Getenv("STOIC_LARGE") != "" {
		return large
	}
	return some
}

// newRig starts a control plane with the open CRD, calls before to store what no schema would accept, and then changes the CRD to
// the given shape ("" leaves it open).
func newRig(t *testing.T, shape string, before func(*rig)) *rig {
	t.Helper()
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "test/fixtures/tfjobs-open.yaml")}})
	r.permit(t)
	before(r)
	if shape != "" {
		r.redefine(t, shape)
	}
	return r
}

// bareRig starts a control plane without anything of ours beyond what the options name. The operator's user has a kubeconfig
// called "operator". A test that changes nothing but its own objects uses shared instead: a control plane costs ten seconds.
func bareRig(t *testing.T, o cluster.Options) *rig {
	t.Helper()
	c, config := operator.Cluster(t, rigOptions(t, o))
	return newRigOf(c, config)
}

// rigOptions completes the options of a control plane, and skips the test where it cannot run.
func rigOptions(t *testing.T, o cluster.Options) cluster.Options {
	t.Helper()
	o.Source, o.Audit, o.Progress = filepath.Join(root, "localcluster"), true, t.Output()
	if o.Kubernetes = release(); o.GangScheduling && nativeVersion() == "" {
		t.Skip("the scheduler of this release has no PodGroups")
	}
	if operator.CRs() == cluster.CRsAggregated && o.CRs == "" && len(o.CRDs) == 0 {
		t.Skip("its kinds are defined while the control plane runs: a server of their own serves those of groups that were registered before")
	}
	return o
}

func newRigOf(c *cluster.Cluster, config *rest.Config) *rig {
	typed := kubernetes.NewForConfigOrDie(config)
	return &rig{
		cluster:         c,
		config:          config,
		dynamic:         dynamic.NewForConfigOrDie(config),
		typed:           typed,
		mapper:          restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery())),
		kind:            kinds.TFJob(),
		keepsGeneration: true,
		flags:           raceDetector(),
		log:             &auditLog{path: c.AuditLog()},
	}
}

// release returns the Kubernetes release of the control planes, such as 1.36; "" is that of localcluster/go.mod.
func release() string { return os.Getenv("STOIC_KUBERNETES") }

// permit installs the namespace and the permissions that deploy/ gives to the operator.
func (r *rig) permit(t *testing.T, more ...string) {
	t.Helper()
	if err := operator.Permit(context.Background(), r.cluster.Kubeconfig(), root, more...); err != nil {
		t.Fatal(err)
	}
}

// of returns the same control plane, for jobs of another kind.
func (r *rig) of(kind *training.Kind) *rig {
	other := *r
	other.kind = kind
	return &other
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
	return operator.Kubectl(context.Background(), r.cluster.Kubeconfig(), in, args...)
}

func (r *rig) jobs(ns string) dynamic.ResourceInterface {
	return r.dynamic.Resource(runtimeschema.GroupVersionResource{Group: r.kind.Group, Version: r.kind.Version, Resource: r.kind.Plural}).Namespace(ns)
}

// head returns a job; nil if it does not exist.
func (r *rig) head(t *testing.T, ns, name string) *training.Head {
	t.Helper()
	head, err := operator.Jobs{Client: r.dynamic, Kind: r.kind}.Head(context.Background(), ns, name)
	if err != nil {
		t.Fatal(err)
	}
	return head
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

// await waits until the condition holds. When it gives up, it reports what it saw.
func await(t *testing.T, what string, holds func() (ok bool, saw string)) {
	t.Helper()
	operator.Await(t, patience, what, holds)
}

// awaitState waits until the last condition of a job is of that type, and True.
func (r *rig) awaitState(t *testing.T, ns, name string, want training.ConditionType) *training.Head {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	head, _, err := operator.Jobs{Client: r.dynamic, Kind: r.kind}.AwaitState(ctx, ns, name, want)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// describe formats conditions as "Created=True(TFJobCreated) Running=True(TFJobRunning)".
func describe(s *training.Status) string { return operator.Describe(s) }

// event is the part of an event that tests compare.
type event struct{ Type, Reason, Path, Message string }

// events returns the events about one object, without repetition counts.
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

// pods returns the UIDs of the pods of a job, by name.
func (r *rig) pods(t *testing.T, ns, job string) map[string]string {
	t.Helper()
	list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: training.LabelJob + "=" + job})
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
		APIGroup, Resource, Subresource, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	RequestObject json.RawMessage `json:"requestObject"`
	Received      time.Time       `json:"requestReceivedTimestamp"`
	Answered      time.Time       `json:"stageTimestamp"`
}

// requests returns the operator's requests, as the API server logged them.
func (r *rig) requests(t *testing.T) []audited {
	t.Helper()
	return r.requestsOf(t, operator.User)
}

// nothingIsForbidden: the shipped permissions are enough for all requests of the operator.
func nothingIsForbidden(t *testing.T, r *rig) {
	for _, q := range r.requests(t) {
		if q.ResponseStatus.Code == 403 {
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		}
	}
}

// sideBySide runs scenarios that share a rig and do not disturb each other, two at a time, and waits for them. None of them calls
// t.Parallel: it would queue behind every test that has not begun, each of which starts a control plane and queues in turn.
// Twenty idle control planes cost more than the scenarios do.
func sideBySide[R any](t *testing.T, r R, scenarios map[string]func(*testing.T, R)) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(2)
	for name, scenario := range scenarios {
		group.Go(func() error {
			t.Run(name, func(t *testing.T) { scenario(t, r) })
			return nil
		})
	}
	_ = group.Wait() // scenarios fail by their own t
}

// auditLog reads what the API server logs, each line once.
type auditLog struct {
	path string

	mu     sync.Mutex
	read   int64
	parsed []audited
}

// requests returns all requests up to now.
func (l *auditLog) requests() ([]audited, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, l.read, 1<<40))
	if err != nil {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1] // the last line may still be written
	l.read += int64(len(whole))
	for line := range bytes.Lines(whole) {
		var a audited
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		l.parsed = append(l.parsed, a)
	}
	return slices.Clip(l.parsed), nil
}

// requestsOf returns the requests of some users.
func (r *rig) requestsOf(t *testing.T, users ...string) (found []audited) {
	t.Helper()
	all, err := r.log.requests()
	if err != nil {
		t.Fatalf("read the audit log: %v", err)
	}
	for _, a := range all {
		if slices.Contains(users, a.User.Username) {
			found = append(found, a)
		}
	}
	return found
}
