package integration

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/cli/cluster"
	crontabversions "stoic/examples/operators/crontab"
	foobarversions "stoic/examples/operators/foobar"
	"stoic/test/served"
)

// actsInVersions is an example with several versions whose operator runs, and converts, as one process.
type actsInVersions struct {
	*servedKind
	example  exampleOperator
	r        *rig
	written  string // spec of the object that is created, in the version that is not the hub
	done     func(t *testing.T, ns string) (bool, string)
	status   string // that another client writes before the edit; "" for none
	edit     string // a merge patch in the hub
	reads    string // spec in the other version after the edit
	doneThen func(t *testing.T, ns string) (bool, string)
}

// TestExamplesInVersions: an operator acts on an object that was written in another version than the one it reads, and again when
// the object is edited in the version that it reads. The status reads the same in both.
func TestExamplesInVersions(t *testing.T) {
	t.Parallel() // it mostly waits
	foobars, crontabs := fooBarExample(), cronTabExample()
	r := bareRig(t, cluster.Options{Nodes: -1, Users: map[string]string{"foobar": foobars.user(), "crontab": crontabs.user()}})
	now := time.Now()
	later, run := at(now.Add(24*time.Hour)), now.Add(-2*time.Hour)
	for _, e := range []*actsInVersions{
		{servedKind: &servedKind{Kind: foobarversions.Versions()}, example: foobars,
			written: `{"target":"a","mode":"Link"}`, done: r.holds("a", "Link"),
			edit: `{"spec":{"target":"b","type":"Copy"}}`, reads: `{"mode":"Copy","target":"b"}`, doneThen: r.holds("b", "Copy")},
		{servedKind: &servedKind{Kind: crontabversions.Versions()}, example: crontabs,
			written: `{"cron":"` + later + `","image":"busybox:1"}`, done: r.hasJobs(""),
			status: `{"status":{"lastScheduleTime":"` + now.Add(-100*time.Hour).UTC().Format(time.RFC3339) + `"}}`,
			edit:   `{"spec":{"cronSpec":"` + at(run) + `"}}`, reads: `{"cron":"` + at(run) + `","image":"busybox:1"}`, doneThen: r.hasJobs(jobAt("web", run))},
	} {
		e.r = r
		t.Run(e.Name, e.act)
	}
}

// act tests from the creation to the end of the edit.
func (e *actsInVersions) act(t *testing.T) {
	deploy := filepath.Join(root, "examples/operators", e.example.folder, "deploy")
	for _, manifest := range e.example.permissions {
		e.r.kubectl(t, nil, "apply", "-f", filepath.Join(deploy, manifest))
	}
	lease, _, _ := strings.Cut(e.example.account, ":")
	e.plural = e.example.resource.Resource
	e.command = []string{build(t, "./examples/operators/"+e.example.folder+"/cmd", raceDetector()...), "--kubeconfig", e.r.cluster.UserKubeconfig(e.example.folder),
		"--leader-elect", "--leader-election-namespace", lease}
	webhook := e.serve(t, t, e.r, e.r.namespace(t, "acts-"+e.plural))
	e.install(t, e.r, "create", served.CRD(t, filepath.Join(deploy, "crd", e.plural+".yaml")), webhook)
	old, hub := e.resource(e.Versions[0].Name), e.resource(e.Hub)
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": e.Group + "/" + e.Versions[0].Name, "kind": e.Name, "metadata": map[string]any{"name": "web"}, "spec": decoded(t, e.written)}}
	if _, err := old.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	e.awaitServed(t, e.done)
	if e.status != "" {
		if _, err := hub.Patch(t.Context(), "web", types.MergePatchType, []byte(e.status), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := hub.Patch(t.Context(), "web", types.MergePatchType, []byte(e.edit), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	e.awaitServed(t, e.doneThen)
	now, err := old.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for member, want := range decoded(t, e.reads) {
		got, _, _ := unstructured.NestedFieldNoCopy(now.Object, "spec", member)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spec.%s as %s (-want +got):\n%s", member, now.GetAPIVersion(), diff)
		}
	}
}

func decoded(t *testing.T, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// awaitServed waits until the operator has done its work, and the status says so in both versions.
func (e *actsInVersions) awaitServed(t *testing.T, done func(*testing.T, string) (bool, string)) {
	t.Helper()
	await(t, "what the operator has to do for the object, and its word on it in both versions", func() (bool, string) {
		if ok, saw := done(t, e.namespace); !ok {
			return false, saw
		}
		var all []*unstructured.Unstructured
		for _, version := range e.all() {
			u, err := e.resource(version).Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !e.example.served(u) {
				return false, version + ": " + jsonText(t, u.Object["status"])
			}
			all = append(all, u)
		}
		diff := cmp.Diff(all[0].Object["status"], all[1].Object["status"])
		return diff == "" && all[0].GetAPIVersion() != all[1].GetAPIVersion(), diff
	})
}

// holds: this ConfigMap is the only one of the operator, with that type.
func (r *rig) holds(name, kind string) func(*testing.T, string) (bool, string) {
	return func(t *testing.T, ns string) (bool, string) {
		t.Helper()
		found := r.kubectl(t, nil, "-n", ns, "get", "configmaps", "-l", foobarLabel, "-o", "jsonpath={range .items[*]}{.metadata.name} {.data.foobar} {.data.type};{end}")
		return found == name+" web "+kind+";", found
	}
}

// hasJobs: a Job of that name is the only one; "" for none.
func (r *rig) hasJobs(name string) func(*testing.T, string) (bool, string) {
	return func(t *testing.T, ns string) (bool, string) {
		t.Helper()
		found := r.kubectl(t, nil, "-n", ns, "get", "jobs", "-o", "jsonpath={.items[*].metadata.name}")
		return found == name, found
	}
}
