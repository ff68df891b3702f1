//go:build unix

package cluster

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const settings = "/api/v1/namespaces/default/configmaps"

func setting(name string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}
}

// revision returns the current revision of the store.
func revision(t *testing.T, a *api) int {
	t.Helper()
	code, list := a.do(t, http.MethodGet, settings, nil)
	meta, _ := list["metadata"].(map[string]any)
	at, err := strconv.Atoi(fmt.Sprint(meta["resourceVersion"]))
	if code != http.StatusOK || err != nil {
		t.Fatalf("list: status %d, %v: %v", code, err, list)
	}
	return at
}

// ownStore skips a test that saves or restores, on a database that is not ours.
func ownStore(t *testing.T) {
	t.Helper()
	if strings.Contains(os.Getenv("STOIC_STORE"), "://") {
		t.Skip("the store is a database, which is saved with its own tools")
	}
}

func TestRestoredStoreKnowsNothingOfWhatCameLater(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	ownStore(t)
	c := start(t, Options{History: true})
	client := connect(t, c.Kubeconfig())
	if err := c.Restore(); err == nil {
		t.Error("restored although nothing was saved")
	}
	code := func(method, path string, body any) int {
		t.Helper()
		code, _ := client.do(t, method, path, body)
		return code
	}
	if got := code(http.MethodPost, settings, setting("early")); got != http.StatusCreated {
		t.Fatalf("create: status %d", got)
	}
	reached := revision(t, client) // before the save: the control plane writes all the time, between a save and a question, too
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what was saved can be restored again
		if got := code(http.MethodPost, settings, setting("late")); got != http.StatusCreated {
			t.Fatalf("create after the save: status %d", got)
		}
		if got := code(http.MethodDelete, settings+"/early", nil); got != http.StatusOK {
			t.Fatalf("delete after the save: status %d", got)
		}
		before := c.PID("kube-scheduler")
		if err := c.Restore(); err != nil {
			t.Fatal(err)
		}
		if c.PID("kube-scheduler") == before || !alive(c.PID("kube-scheduler")) || alive(before) {
			t.Errorf("the scheduler was process %d and is %d", before, c.PID("kube-scheduler"))
		}
		if got := code(http.MethodGet, settings+"/early", nil); got != http.StatusOK {
			t.Errorf("what was deleted after the save: status %d, want 200", got)
		}
		if got := code(http.MethodGet, settings+"/late", nil); got != http.StatusNotFound {
			t.Errorf("what was made after the save: status %d, want 404", got)
		}
	}
	if got := code(http.MethodPost, "/api/v1/namespaces/default/pods", pod("after", nil)); got != http.StatusCreated {
		t.Fatalf("create a pod: status %d", got)
	}
	client.awaitPhase(t, "after", "Running")
	if now := revision(t, client); now < reached {
		t.Errorf("the store is at %d, was saved at %d or later", now, reached)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	assertGone(t, c)
}

// TestStores: a control plane keeps its objects behind KINE in a file, and finds them there when it starts again in the same
// directory. etcd has a store of its own there.
func TestStores(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	dir := t.TempDir()
	for _, c := range []struct {
		store, makes string
		has          []string
	}{
		{StoreKine, "one", nil}, {StoreKine, "two", []string{"one"}}, {StoreEtcd, "three", nil}, {StoreKine, "four", []string{"one", "two"}},
	} {
		p := start(t, Options{Dir: dir, Store: c.store, Nodes: -1})
		client := connect(t, p.Kubeconfig())
		for _, name := range []string{"one", "two", "three"} {
			want := http.StatusNotFound
			if slices.Contains(c.has, name) {
				want = http.StatusOK
			}
			if code, _ := client.do(t, http.MethodGet, settings+"/"+name, nil); code != want {
				t.Errorf("%s, before %s: get %s: status %d, want %d", c.store, c.makes, name, code, want)
			}
		}
		if code, answer := client.do(t, http.MethodPost, settings, setting(c.makes)); code != http.StatusCreated {
			t.Errorf("%s: create %s: status %d: %v", c.store, c.makes, code, answer)
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestSaveKeepsThePast: a save stops the store, which must not lose earlier revisions.
func TestSaveKeepsThePast(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	ownStore(t)
	c := start(t, Options{History: true, Nodes: -1})
	client := connect(t, c.Kubeconfig())
	begin := revision(t, client)
	if code, answer := client.do(t, http.MethodPost, settings, setting("new")); code != http.StatusCreated {
		t.Fatalf("create: status %d: %v", code, answer)
	}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	code, list := client.do(t, http.MethodGet, fmt.Sprintf("%s?resourceVersion=%d&resourceVersionMatch=Exact", settings, begin), nil)
	items, _ := list["items"].([]any)
	if code != http.StatusOK {
		t.Fatalf("list as of %d: status %d: %v", begin, code, list)
	}
	for _, item := range items {
		if meta, _ := item.(map[string]any)["metadata"].(map[string]any); meta["name"] == "new" {
			t.Errorf("the list as of %d holds what was made later", begin)
		}
	}
}

// TestPodsEndAlthoughTheStoreWasAway: a status that a simulated kubelet sends at the moment when the store stops is rejected for good.
// The kubelet reports again when the store is back: no pod runs forever because of that.
func TestPodsEndAlthoughTheStoreWasAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	ownStore(t)
	c := start(t, Options{})
	client := connect(t, c.Kubeconfig())
	const pods = 100
	name := func(n int) string { return fmt.Sprint("ends-", n) }
	for n := range pods { // one ends every few milliseconds, for two seconds
		ends := pod(name(n), map[string]any{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": fmt.Sprintf("%dms", 1000+20*n)})
		if code, answer := client.do(t, http.MethodPost, "/api/v1/namespaces/default/pods", ends); code != http.StatusCreated {
			t.Fatalf("create a pod: status %d: %v", code, answer)
		}
	}
	client.awaitPhase(t, name(0), "Succeeded")
	for range 3 {
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range pods {
		client.awaitPhase(t, name(n), "Succeeded")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}
