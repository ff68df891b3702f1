//go:build unix

package cluster

import (
	"fmt"
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
