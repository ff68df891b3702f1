package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// exampleOperator is an operator of examples/operators, and what a test does with many of its objects.
type exampleOperator struct {
	folder  string // in examples/operators
	account string // NAMESPACE:NAME of its service account; its lease is in that namespace, too
	// permissions are the manifests beside the CRDs, in deploy.
	permissions []string
	resource    runtimeschema.GroupVersionResource
	kind        string
	spec        func(name string) map[string]any
	// served reports whether the status says that all is as it should be.
	served func(*unstructured.Unstructured) bool
	// pods is how many run for each object; there are nodes for these.
	pods int
	// share is the part of the objects that a test creates; the operators create the others.
	share   float64
	changes []change
	// created is the cost of an object's creation, and deleted that of the deletion of the changed one.
	created, deleted change
}

// change of one object, and the writes that the operator needs for it.
type change struct {
	what string
	// status is written by another client before the change; it is not counted. "" for none.
	status string
	patch  string
	// settled reports whether the operator has observed the change; nil: when the object is served.
	settled func(*unstructured.Unstructured) bool
	// want are the writes, and how many. more are additional writes, at most: two changes of a status may be observed together,
	// and a controller of Kubernetes may write an object at the same moment.
	want, more map[string]int
}

// installation is a control plane with one of these operators as it is installed.
type installation struct {
	*rig
	exampleOperator
	program string
}

func (o exampleOperator) user() string { return "system:serviceaccount:" + o.account }

// installed returns a control plane with an operator that has not been started.
func installed(t *testing.T, o exampleOperator, objects int) *installation {
	t.Helper()
	deploy := filepath.Join(root, "examples/operators", o.folder, "deploy")
	nodes := -1
	if o.pods > 0 {
		nodes = 1 + o.pods*objects/900 // each has room for 1000
	}
	e := &installation{exampleOperator: o, program: build(t, "./examples/operators/"+o.folder+"/cmd")} // without the race detector: memory is measured
	e.rig = bareRig(t, cluster.Options{Nodes: nodes, Users: map[string]string{"example": o.user()}, CRDs: []string{deploy + "/crd"}})
	for _, manifest := range o.permissions {
		e.kubectl(t, nil, "apply", "-f", filepath.Join(deploy, manifest))
	}
	return e
}

// start starts a process of the operator, with leader election.
func (e *installation) start(t *testing.T) *process {
	t.Helper()
	namespace, _, _ := strings.Cut(e.account, ":")
	return &process{operator.InTest(t, operator.Options{Command: []string{e.program, "--kubeconfig", "{kubeconfig}", "--leader-elect", "--leader-election-namespace",
		namespace, "--metrics-bind-address", "{metrics}", "--health-probe-bind-address", "{probes}"}, Kubeconfig: e.cluster.UserKubeconfig("example")})}
}

// create creates objects PREFIX0, PREFIX1 and so on, in parallel.
func (e *installation) create(t *testing.T, ns, prefix string, from, to int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := from; i < to; i++ {
		name := prefix + strconv.Itoa(i)
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": e.resource.GroupVersion().String(), "kind": e.exampleOperator.kind,
			"metadata": map[string]any{"name": name}, "spec": e.spec(name)}}
		group.Go(func() error {
			_, err := e.dynamic.Resource(e.resource).Namespace(ns).Create(context.Background(), u, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// awaitAll waits until so many objects are served, for as long as there is progress.
func (e *installation) awaitAll(t *testing.T, ns string, want int) {
	t.Helper()
	served, last, progress := 0, 0, time.Now()
	for served < want {
		time.Sleep(time.Duration(100+want/10) * time.Millisecond) // each poll reads them all
		list, err := e.dynamic.Resource(e.resource).Namespace(ns).List(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		served = 0
		for i := range list.Items {
			if e.served(&list.Items[i]) {
				served++
			}
		}
		if served > last {
			last, progress = served, time.Now()
		}
		if time.Since(progress) > patience {
			t.Fatalf("%d of %d %s are served, and no more for %v", served, want, e.resource.Resource, patience)
		}
	}
}

// audit returns the current position in the audit log.
func (r *rig) audit(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(r.cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// requestsSince returns the requests of some users since a position in the audit log, without those about leases, and without
// watches, which are logged when they end.
func (r *rig) requestsSince(t *testing.T, from int64, users ...string) (found []audited) {
	t.Helper()
	file, err := os.Open(r.cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, from, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var a audited
		if json.Unmarshal(line, &a) == nil && slices.Contains(users, a.User.Username) && a.ObjectRef.Resource != "leases" && a.Verb != "watch" {
			found = append(found, a)
		}
	}
	return found
}
