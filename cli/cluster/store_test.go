//go:build unix

package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// createSetting creates a ConfigMap.
func createSetting(t *testing.T, client corev1client.CoreV1Interface, name string) {
	t.Helper()
	if _, err := client.ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// hasSetting reports whether there is a ConfigMap.
func hasSetting(t *testing.T, client corev1client.CoreV1Interface, name string) bool {
	t.Helper()
	_, err := client.ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// revision returns the current revision of the store.
func revision(t *testing.T, client corev1client.CoreV1Interface) int {
	t.Helper()
	list, err := client.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := strconv.Atoi(list.ResourceVersion)
	if err != nil {
		t.Fatal(err)
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

// TestRestoredStoreKnowsNothingOfWhatCameLater: what was saved can be restored, more than once. The save itself does not lose earlier
// revisions.
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
	begin := revision(t, client)
	createSetting(t, client, "early")
	reached := revision(t, client) // before the save: the control plane writes all the time, between a save and a question, too
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	past, err := client.ConfigMaps("default").List(t.Context(), metav1.ListOptions{ResourceVersion: fmt.Sprint(begin), ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if err != nil {
		t.Fatalf("list as of %d: %v", begin, err)
	}
	for _, item := range past.Items {
		if item.Name == "early" {
			t.Errorf("the list as of %d holds what was made later", begin)
		}
	}
	for range 2 {
		createSetting(t, client, "late")
		if err := client.ConfigMaps("default").Delete(t.Context(), "early", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		before := c.PID("kube-scheduler")
		if err := c.Restore(); err != nil {
			t.Fatal(err)
		}
		if c.PID("kube-scheduler") == before || !alive(c.PID("kube-scheduler")) || alive(before) {
			t.Errorf("the scheduler was process %d and is %d", before, c.PID("kube-scheduler"))
		}
		if !hasSetting(t, client, "early") || hasSetting(t, client, "late") {
			t.Error("the store is not as it was saved")
		}
	}
	createPod(t, client, "after", corev1.RestartPolicyNever, nil)
	awaitPhase(t, client, "after", corev1.PodRunning)
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
	made := map[string]string{} // the store of each ConfigMap
	for name, store := range []string{StoreKine, StoreEtcd, StoreKine} {
		p := start(t, Options{Dir: dir, Store: store, Nodes: -1})
		client := connect(t, p.Kubeconfig())
		for name, in := range made {
			if found := hasSetting(t, client, name); found != (in == store) {
				t.Errorf("%s has %s of %s: %v", store, name, in, found)
			}
		}
		createSetting(t, client, fmt.Sprint("made-", name))
		made[fmt.Sprint("made-", name)] = store
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}
