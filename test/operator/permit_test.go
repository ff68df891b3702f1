package operator

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubectlForgets: kubectl does not reuse the discovery of one control plane for the next one at the same address, and nothing
// is left in the home directory of the user who runs the tests.
func TestKubectlForgets(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not on the PATH")
	}
	resource := "widgets"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api":
			fmt.Fprint(w, `{"kind":"APIVersions","versions":["v1"]}`)
		case "/apis":
			fmt.Fprint(w, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
		case "/api/v1":
			fmt.Fprintf(w, `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":%q,"kind":"Widget","namespaced":true,"verbs":["get","list"]}]}`, resource)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, resource = range []string{"widgets", "gadgets"} {
		kubeconfig := filepath.Join(t.TempDir(), "admin.kubeconfig")
		text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c, user: c}}]\ncurrent-context: c\nusers: [{name: c}]\n", server.URL)
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := Kubectl(t.Context(), kubeconfig, nil, "api-resources", "--cached"); err != nil || !strings.Contains(out, resource) {
			t.Errorf("kubectl knows no %s: %v\n%s", resource, err, out)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left at home: %v, %v", left, err)
	}
}
