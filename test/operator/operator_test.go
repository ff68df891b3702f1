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

// TestWithoutAddresses: a process without these addresses has no probes and no metrics.
func TestWithoutAddresses(t *testing.T) {
	p, err := Start(Options{Command: []string{"sleep", "60"}, Log: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Kill() }()
	if _, err := p.Metrics(t.Context()); err == nil || p.Ready(t.Context()) {
		t.Errorf("it answers: %v", err)
	}
	if err := p.AwaitReady(soon(t)); err == nil || !strings.Contains(err.Error(), "wait for the operator to be ready: context deadline exceeded") {
		t.Errorf("it is awaited: %v", err)
	}
	for _, wrong := range []Options{{}, {Command: []string{"no-such-program"}, Log: os.DevNull}, {Command: []string{"sleep", "60"}, Log: "no/such/folder"}} {
		if p, err := Start(wrong); err == nil {
			_ = p.Kill()
			t.Errorf("%+v is started", wrong)
		}
	}
}

// TestAddress: while an operator has not begun to listen on its port, the system assigns the port to no one who asks for any.
// Some of these ports would be assigned again if they were merely closed.
func TestAddress(t *testing.T) {
	reserved := map[string]bool{}
	for range 100 {
		address, err := Address()
		if err != nil {
			t.Fatal(err)
		}
		if reserved[address] {
			t.Errorf("%s is reserved twice", address)
		}
		reserved[address] = true
	}
	listen := func(address string) string {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
	for range 10000 {
		if address := listen("127.0.0.1:0"); reserved[address] {
			t.Fatalf("%s is given to somebody else", address)
		}
	}
	for address := range reserved {
		listen(address)
	}
}

func TestTrouble(t *testing.T) {
	text := "{\"level\":\"info\"}\nWARNING: DATA RACE\npanic: x\n\"Observed a panic\"\ngoroutine 1 [running]:\ngoroutine 17\n"
	if diff := cmp.Diff([]string{"WARNING: DATA RACE", "panic: x", `"Observed a panic"`, "goroutine 1 [running]:"}, Trouble(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBuildOnce: a program is built once for each set of flags, and a compile error is returned.
func TestBuildOnce(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module x\n\ngo 1.26\n")
	write("main.go", "package main\n\nvar says = \"one\"\n\nfunc main() { println(says) }\n")
	programs := Programs{Root: root, Dir: t.TempDir()}
	build := func(flags ...string) string {
		file, err := programs.Build(t.Context(), ".", flags...)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	plain, other := build(), build("-ldflags=-X main.says=two")
	write("main.go", "package main\n\nnonsense")
	if again := build(); again != plain {
		t.Errorf("%s is built again as %s", plain, again)
	}
	if _, err := programs.Build(t.Context(), ".", "-trimpath"); err == nil || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("what does not compile: %v", err)
	}
	for file, want := range map[string]string{plain: "one\n", other: "two\n"} {
		if out, err := exec.Command(file).CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s says %q, %v", file, out, err)
		}
	}
}

func TestFootprint(t *testing.T) {
	const stat = "12 (a) 1 (b) S 1 12 12 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 100 1 2 3"
	f, err := parseFootprint([]byte(stat), []byte("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n"))
	if want := (Footprint{CPU: 2 * time.Second, Resident: 1 << 20, Peak: 2 << 20}); err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := parseFootprint([]byte("nonsense"), nil); err == nil {
		t.Error("nonsense is read")
	}
}
