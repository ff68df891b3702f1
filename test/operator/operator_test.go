package operator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain turns the test's program into the operator of these tests when one of them starts it as that.
func TestMain(m *testing.M) {
	if len(os.Args) == 6 && os.Args[1] == "operate" {
		os.Exit(operate(os.Args[2], os.Args[3], os.Args[4], os.Args[5]))
	}
	os.Exit(m.Run())
}

// operate is a minimal operator: it answers until it gets SIGTERM, and ends with a code.
func operate(metrics, probes, says, code string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Println(says, os.Getenv("KUBECONFIG"))
	for address, text := range map[string]string{metrics: "# HELP a\na{kind=\"x\"} 2\na{kind=\"y\"} 3\nab 4.5\n", probes: "ok"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			fmt.Println(err)
			return 4
		}
		go func() {
			_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !slices.Contains([]string{"/metrics", "/readyz"}, r.URL.Path) {
					w.WriteHeader(http.StatusNotFound)
				}
				fmt.Fprint(w, text)
			}))
		}()
	}
	<-stop
	switch code {
	case "never":
		select {}
	case "panics":
		fmt.Println(code)
		return 0
	}
	return len(code)
}

func start(t *testing.T, log string, words ...string) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Options{Command: append([]string{self, "operate", "{metrics}", "{probes}"}, words...), Kubeconfig: "the-config", Namespace: "a b",
		Flags: []string{"says it", ""}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	if err := p.AwaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProcess(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("panic: of an earlier process\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, log, "{flags}")
	if diff := cmp.Diff("says it the-config\n", p.Text()); diff != "" {
		t.Errorf("its own part of the log, with the environment (-want +got):\n%s", diff)
	}
	if code := p.Probe(t.Context(), "/healthz"); code != http.StatusNotFound {
		t.Errorf("a path that it does not know is answered with %d", code)
	}
	for parts, want := range map[string]float64{"a{": 5, `a{ "y"`: 3, "a": 9.5, "ab": 4.5, "c": 0} {
		sum, found, err := p.Sample(t.Context(), strings.Fields(parts)...)
		if err != nil || found != (want > 0) || sum != want {
			t.Errorf("samples with %q: %v, %v, %v, want %v", parts, sum, found, err, want)
		}
	}
	if err := p.Stop(t.Context()); err != nil || p.Alive() || p.Exit() != nil {
		t.Errorf("a good end: %v, %v", err, p.Exit())
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
	if _, _, err := p.Sample(t.Context(), "a"); err == nil {
		t.Error("one that has ended is scraped")
	}
}

// TestEnds: how a process ends is an error unless the test requested it.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		end  func(*testing.T, *Process) error
		want string
	}{
		"killed": {"", func(_ *testing.T, p *Process) error { return p.Kill() }, ""},
		"killed twice": {"", func(_ *testing.T, p *Process) error {
			return errors.Join(p.Kill(), p.Kill(), p.Stop(context.Background()))
		}, ""},
		"another code":    {"xxx", func(_ *testing.T, p *Process) error { return p.Stop(context.Background()) }, "ended with exit status 3\na b the-config"},
		"does not listen": {"never", func(t *testing.T, p *Process) error { return p.Stop(soon(t)) }, "did not stop within"},
		"with a panic":    {"panics", func(_ *testing.T, p *Process) error { return p.Stop(context.Background()) }, "the operator's log says: panics"},
		"by itself":       {"xxx", func(t *testing.T, p *Process) error { terminate(t, p); return p.Stop(context.Background()) }, "had ended by itself: exit status 3\na b the-config"},
		"before the kill": {"", func(t *testing.T, p *Process) error { terminate(t, p); return p.Kill() }, "had ended by itself: <nil>\na b the-config"},
		"not ready":       {"", func(t *testing.T, p *Process) error { terminate(t, p); return p.AwaitReady(t.Context()) }, "has ended by itself: <nil>\na b the-config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, filepath.Join(t.TempDir(), "log"), "{namespace}", c.code)
			if err := c.end(t, p); err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("it ends with %v, want %q", err, c.want)
			} else if name == "another code" && !errors.As(err, new(*exec.ExitError)) {
				t.Errorf("an error without the code: %#v", err)
			}
			<-p.Done()
		})
	}
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// terminate ends a process without its Process knowing.
func terminate(t *testing.T, p *Process) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}
