//go:build unix

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// api is a client made from a kubeconfig.
type api struct {
	http   *http.Client
	server string
}

func connect(t *testing.T, kubeconfig string) *api {
	t.Helper()
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server    string
				Authority []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			}
		}
	}
	if err := json.Unmarshal(content, &config); err != nil {
		t.Fatal(err)
	}
	user, cluster := config.Users[0].User, config.Clusters[0].Cluster
	pair, err := tls.X509KeyPair(user.Certificate, user.Key)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(cluster.Authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{pair}}}
	t.Cleanup(transport.CloseIdleConnections)
	return &api{http: &http.Client{Transport: transport}, server: cluster.Server}
}

func (a *api) do(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return a.send(t, method, path, "application/json", content)
}

func (a *api) send(t *testing.T, method, path, contentType string, content []byte) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, a.server+path, bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := a.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(answer, &object); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, answer)
	}
	return response.StatusCode, object
}

// awaitPhase watches a pod until it is in the phase, and returns it.
func (a *api) awaitPhase(t *testing.T, name, phase string) map[string]any {
	t.Helper()
	path := "/api/v1/namespaces/default/pods?watch=true&timeoutSeconds=30&fieldSelector=metadata.name=" + name
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.server+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := a.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := json.NewDecoder(response.Body)
	seen := "nothing"
	for {
		var event struct{ Object map[string]any }
		if err := events.Decode(&event); err != nil {
			t.Fatalf("pod %s does not become %s (%v); last seen: %s", name, phase, err, seen)
		}
		status, _ := event.Object["status"].(map[string]any)
		if seen = fmt.Sprint(status["phase"]); seen == phase {
			return event.Object
		}
	}
}

func pod(name string, annotations map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "annotations": annotations},
		"spec": map[string]any{
			"restartPolicy": "Never",
			"containers":    []any{map[string]any{"name": "work", "image": "any"}},
		},
	}
}

func exitCode(t *testing.T, pod map[string]any) int {
	t.Helper()
	content, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Status struct {
			ContainerStatuses []struct {
				State struct{ Terminated struct{ ExitCode int } }
			}
		}
	}
	if err := json.Unmarshal(content, &p); err != nil {
		t.Fatal(err)
	}
	return p.Status.ContainerStatuses[0].State.Terminated.ExitCode
}

// lines is a writer that logs progress to the test.
type lines struct{ t *testing.T }

func (l lines) Write(text []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimRight(text, "\n"))
	return len(text), nil
}

func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	o.Progress = lines{t}
	if o.Store == "" { // each has a database of its own; see test/database
		o.Store = strings.ReplaceAll(os.Getenv("STOIC_STORE"), "{name}", "stoic_"+strings.ToLower(rand.Text()[:12]))
	}
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// alive does not count zombies: an ended process may wait to be reaped.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil { // it has ended between the two calls, or there is no such file here
		return syscall.Kill(pid, 0) == nil
	}
	return !bytes.Contains(status, []byte("State:\tZ"))
}

func TestTwoClustersSideBySide(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts real control planes")
	}
	first := start(t, Options{Audit: true, Users: map[string]string{"nobody": "alice:trainers"}})
	second := start(t, Options{Nodes: 1})

	one, two := connect(t, first.Kubeconfig()), connect(t, second.Kubeconfig())
	for _, p := range []map[string]any{
		pod("forever", nil),
		pod("good", map[string]any{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": "200ms"}),
		pod("bad", map[string]any{"simulation.stoic/exit-code": "3"}),
		pod("nonsense", map[string]any{"simulation.stoic/exit-code": "x", "simulation.stoic/run-for": "y"}),
	} {
		if code, answer := one.do(t, http.MethodPost, "/api/v1/namespaces/default/pods", p); code != http.StatusCreated {
			t.Fatalf("create a pod: status %d: %v", code, answer)
		}
	}
	one.awaitPhase(t, "forever", "Running")
	one.awaitPhase(t, "nonsense", "Running")
	if code := exitCode(t, one.awaitPhase(t, "good", "Succeeded")); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if code := exitCode(t, one.awaitPhase(t, "bad", "Failed")); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if code, _ := two.do(t, http.MethodGet, "/api/v1/namespaces/default/pods/forever", nil); code != http.StatusNotFound {
		t.Errorf("a pod of the first cluster in the second: status %d, want 404", code)
	}
	nobody := connect(t, first.UserKubeconfig("nobody"))
	if code, _ := nobody.do(t, http.MethodGet, "/api/v1/namespaces/default/pods/forever", nil); code != http.StatusForbidden {
		t.Errorf("a user without a role: status %d, want 403", code)
	}
	if content, err := os.ReadFile(first.AuditLog()); err != nil || !bytes.Contains(content, []byte(`"username":"alice"`)) {
		t.Errorf("the audit log does not know alice (%v)", err)
	}
	for _, c := range []*Cluster{first, second} {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
		if err := c.Stop(); err != nil {
			t.Errorf("the second Stop: %v", err)
		}
		assertGone(t, c)
		if c.Err() != nil {
			t.Errorf("after Stop: %v, want no error", c.Err())
		}
	}
}

func TestKilledSupervisorTakesItsPartsAlong(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c := start(t, Options{})
	if err := c.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitDone(t, c)
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	assertGone(t, c)
}

func TestFailedPartEndsTheCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c := start(t, Options{})
	if err := syscall.Kill(c.PID("kube-scheduler"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitDone(t, c)
	if c.Err() == nil || !bytes.Contains([]byte(c.Err().Error()), []byte("kube-scheduler ended early")) {
		t.Errorf("the error does not name the part: %v", c.Err())
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	assertGone(t, c)
}

func TestKilledPartComesBack(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c := start(t, Options{})
	for _, part := range []string{"kube-apiserver", "etcd"} {
		before := c.PID(part)
		if err := c.Kill(part); err != nil {
			t.Fatal(err)
		}
		if alive(before) || c.PID(part) != 0 {
			t.Errorf("%s still runs as process %d", part, before)
		}
		if err := c.Kill(part); err == nil {
			t.Errorf("%s was killed twice", part)
		}
		if err := c.Revive(part); err != nil {
			t.Fatal(err)
		}
		if !alive(c.PID(part)) {
			t.Errorf("%s does not run again", part)
		}
	}
	client := connect(t, c.Kubeconfig())
	if code, answer := client.do(t, http.MethodPost, "/api/v1/namespaces/default/pods", pod("late", nil)); code != http.StatusCreated {
		t.Fatalf("create a pod: status %d: %v", code, answer)
	}
	client.awaitPhase(t, "late", "Running")
	if err := c.Revive("kubelet"); err == nil {
		t.Error("a part that does not exist was started")
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	assertGone(t, c)
}

// TestRemovedBinary revives a part after the cache has dropped the binary.
func TestRemovedBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds the file of a running program that was removed")
	}
	cached, err := Build(t.Context(), Options{Progress: lines{t}})
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(cached)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "localcluster")
	if err := os.WriteFile(program, content, 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, Options{Program: program, Nodes: -1})
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill("kube-scheduler"); err != nil {
		t.Fatal(err)
	}
	if err := c.Revive("kube-scheduler"); err != nil {
		t.Error(err)
	}
}

func TestCancelledContextStopsTheCluster(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Start(ctx, Options{Progress: lines{t}})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-c.ended
	if err := c.Stop(); err != nil { // waits for the one that the context began
		t.Error(err)
	}
	assertGone(t, c)
}

func awaitDone(t *testing.T, c *Cluster) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the cluster has not noticed that it ended")
	}
}
