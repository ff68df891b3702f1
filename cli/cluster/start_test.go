//go:build unix

package cluster

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// connect returns a client for the core API in the namespace default, without a rate limit.
func connect(t *testing.T, kubeconfig string) corev1client.CoreV1Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.CoreV1()
}

// createPod creates a pod whose fate the annotations tell the simulated kubelet.
func createPod(t *testing.T, client corev1client.CoreV1Interface, name string, policy corev1.RestartPolicy, annotations map[string]string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: corev1.PodSpec{RestartPolicy: policy, Containers: []corev1.Container{{Name: "work", Image: "any"}}}}
	if _, err := client.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitPhase reads a pod until it is in a phase.
func awaitPhase(t *testing.T, client corev1client.CoreV1Interface, name string, phase corev1.PodPhase) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		pod, err := client.Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Status.Phase == phase {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for the pod %s to be %s: %v", name, phase, pod)
		}
	}
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
	if o.Store == "" { // each has a database of its own; see test/database.sh
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
	createPod(t, one, "forever", corev1.RestartPolicyNever, map[string]string{"simulation.stoic/exit-code": "x", "simulation.stoic/run-for": "y"})
	awaitPhase(t, one, "forever", corev1.PodRunning)
	if _, err := two.Pods("default").Get(t.Context(), "forever", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod of the first cluster in the second: %v", err)
	}
	nobody := connect(t, first.UserKubeconfig("nobody"))
	if _, err := nobody.Pods("default").Get(t.Context(), "forever", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role: %v", err)
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

func awaitDone(t *testing.T, c *Cluster) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the cluster has not noticed that it ended")
	}
}
