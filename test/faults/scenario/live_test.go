package scenario_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

const (
	root         = "../../.."
	operatorUser = "system:serviceaccount:kubeflow:training-operator"
	patience     = 3 * time.Minute
	// settled is longer than the operator puts off anything that it does on its own accord.
	settled = 3 * time.Second
)

// TestEveryLife lives every scenario twice with the real operator on a real control plane: the second life ends as the
// first, and no oracle finds anything.
func TestEveryLife(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane: left out with -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	binary := build(t)
	c := start(t)
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	var cuts atomic.Int64
	recorder, disturbed := record(t, config), record(t, cut(config, &cuts))
	spaces := map[string]string{} // by the flags that their operators have
	for _, s := range scenario.All() {
		flags := strings.Join(s.Flags, " ")
		if spaces[flags] == "" {
			spaces[flags] = fmt.Sprintf("space-%d", len(spaces))
			kubectl(t, c, "create", "namespace", spaces[flags])
			operate(t, binary, c.UserKubeconfig("operator"), spaces[flags], s.Flags)
		}
	}
	client := dynamic.NewForConfigOrDie(config)
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenario.All() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				space := spaces[strings.Join(s.Flags, " ")]
				lives := twice(ctx, t, s, func(job string) scenario.Actor {
					return scenario.Actor{Client: client, Namespace: space, Job: job, Life: recorder.Life(space, job)}
				})
				for _, a := range lives {
					compare(ctx, t, a.Life, disturbed.Life(space, a.Job))
				}
			})
		}
	})
	if n := cuts.Load(); n < 5 {
		t.Errorf("the watches of the second record were cut %d times", n)
	}
}

// record what happens until the test ends.
func record(t *testing.T, config *rest.Config) *history.Recorder {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	recorder, err := history.Record(ctx, config, scenario.Resources(scenario.All())...)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		recorder.Wait()
	})
	return recorder
}

// cut makes a client each of whose answers breaks off after some text.
func cut(config *rest.Config, cuts *atomic.Int64) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && r.URL.Query().Has("watch") {
				response.Body = &broken{ReadCloser: response.Body, left: 40 << 10, cuts: cuts}
			}
			return response, err
		})
	})
	return own
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type broken struct {
	io.ReadCloser
	left int
	cuts *atomic.Int64
}

func (b *broken) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.cuts.Add(1)
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// compare two records of a life: cuts have lost and doubled nothing.
func compare(ctx context.Context, t *testing.T, plain, disturbed *history.Life) {
	t.Helper()
	all := plain.Versions()
	if len(all) == 0 {
		t.Fatal("nothing was recorded")
	}
	if err := disturbed.Told(ctx, all[len(all)-1].Object); err != nil {
		t.Fatal(err)
	}
	text := func(l *history.Life) (lines []string) {
		for _, v := range l.Versions() {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", v.Type, v.Resource.Resource, v.Object.GetName(), v.Object.GetResourceVersion()))
		}
		return lines
	}
	if diff := cmp.Diff(text(plain), text(disturbed)); diff != "" {
		t.Errorf("a record whose watches are cut (-plain +cut):\n%s", diff)
	}
}

// twice lives a scenario two times at once.
func twice(ctx context.Context, t *testing.T, s scenario.Scenario, actor func(job string) scenario.Actor) []scenario.Actor {
	first, second := actor(s.Name+"-1"), actor(s.Name+"-2")
	done := make(chan error, 2)
	for _, a := range []scenario.Actor{first, second} {
		go func() {
			began := time.Now()
			err := s.Live(ctx, a)
			took := time.Since(began)
			if err == nil {
				err = a.Life.Quiet(ctx, settled)
			}
			if reference := oracle.Observe(a.Life, nil); err == nil {
				t.Logf("%s took %v, %d versions, %d events", a.Job, took.Round(time.Millisecond), len(reference.Versions), reference.Events)
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
	for _, v := range oracle.Judge(second.Life, nil, nil, oracle.Observe(first.Life, nil), oracle.Limits{Paths: s.Paths}) {
		t.Error(v)
	}
	if gaps := second.Life.Gaps(); len(gaps) > 0 {
		t.Errorf("versions may be missing: %v", gaps)
	}
	t.Logf("%s ends as\n%s", s.Name, first.Life.View().Digest())
	for _, a := range []scenario.Actor{first, second} {
		if err := s.Bury(ctx, a); err != nil {
			t.Error(err)
		}
	}
	return []scenario.Actor{first, second}
}

// build compiles the operator.
func build(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stoic")
	cmd := exec.Command("go", "build", "-o", file, ".")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	return file
}

// start runs a control plane with all CRDs that the scenarios need.
func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Start(context.Background(), cluster.Options{Source: filepath.Join(root, "localcluster"),
		CRDs:  []string{filepath.Join(root, "deploy/crd"), filepath.Join(root, "test/fixtures/podgroups-volcano.yaml")},
		Users: map[string]string{"operator": operatorUser}})
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop the control plane: %v", err)
		}
	})
	kubectl(t, c, "apply", "-f", filepath.Join(root, "deploy/namespace.yaml"))
	kubectl(t, c, "apply", "-f", filepath.Join(root, "deploy/rbac"))
	return c
}

func kubectl(t *testing.T, c *cluster.Cluster, args ...string) {
	t.Helper()
	cmd := exec.Command("kubectl", append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// operate runs the operator for one namespace until the test ends, when it must end in good order.
func operate(t *testing.T, binary, kubeconfig, namespace string, flags []string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	probes := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, append([]string{"controller", "--kubeconfig", kubeconfig, "--namespace", namespace,
		"--metrics-bind-address", "0", "--health-probe-bind-address", probes}, flags...)...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the operator: %v", err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !strings.Contains(err.Error(), os.ErrProcessDone.Error()) {
			t.Errorf("stop the operator: %v", err)
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the operator ended with %v; its log:\n%s", err, log.String())
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // nothing tells when a process listens
		response, err := http.Get("http://" + probes + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operator is not ready: %v", err)
		}
	}
}
