package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

func gadgets() Program {
	resource := schema.Resource{Group: "test.example.com", Version: "v1", Plural: "gadgets", Kind: "Gadget"}
	return Program{Name: "gadget-operator", Short: "Keeps gadgets.", Watches: []controller.Watch{{
		Resource: resource,
		Convert: func(u *unstructured.Unstructured) *convert.Result {
			return &convert.Result{Head: &schema.Head{Resource: resource, Meta: convert.Meta(u.Object)}}
		},
		Decide: func(schema.Observed) schema.Plan { return schema.Plan{} }}}}
}

func called(args ...string) (out, errOut string, code int) {
	var o, e bytes.Buffer
	code = gadgets().Main(append([]string{"gadget-operator"}, args...), &o, &e)
	return o.String(), e.String(), code
}

func TestWrongCalls(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("MY_POD_NAMESPACE", "")
	for args, says := range map[string]string{
		"--metrics":                             "unknown flag: --metrics",
		"now":                                   `found the argument "now"`,
		"--namespace=a/b":                       `--namespace: found "a/b"`,
		"--metrics-bind-address=":               "--metrics-bind-address: found",
		"--health-probe-bind-address=":          "--health-probe-bind-address: found",
		"--leader-elect":                        `--leader-election-namespace: found ""`,
		"--leader-elect --leader-election-id=_": `--leader-election-id: found "_"`,
		"--zap-log-level=loud":                  `--zap-log-level: found "loud"`,
		"--metrics-cert-path=/certificates":     "--metrics-cert-path: found without --metrics-secure",
		"":                                      "no API server: this is not a pod",
		"--kubeconfig=/no/such/file":            "read the kubeconfig /no/such/file",
	} {
		_, errOut, code := called(strings.Fields(args)...)
		if code != 2 || !strings.Contains(errOut, says) || !strings.Contains(errOut, "See 'gadget-operator --help'.") {
			t.Errorf("%q: code %d, stderr %q, want %q", args, code, errOut, says)
		}
	}
}

// TestResources: one of several watches is served alone, by a process that has a lease of its own.
func TestResources(t *testing.T) {
	one := gadgets().Watches[0]
	watch := func(plural, version string) controller.Watch {
		w := one
		w.Resource.Plural, w.Resource.Version = plural, version
		return w
	}
	all := []controller.Watch{watch("gadgets", "v1"), watch("widgets", "v1"), watch("gadgets", "v2")}
	for name, test := range map[string]struct {
		args, lease, served string
	}{
		"all":                   {"", "op", "gadgets/v1 widgets/v1 gadgets/v2"},
		"one":                   {"--resources=widgets", "op-widgets", "widgets/v1"},
		"both versions of one":  {"--resources=gadgets", "op-gadgets", "gadgets/v1 gadgets/v2"},
		"both, in any order":    {"--resources=widgets,gadgets", "op-gadgets-widgets", "gadgets/v1 widgets/v1 gadgets/v2"},
		"a lease of that name":  {"--resources=widgets --leader-election-id=mine", "mine", "widgets/v1"},
		"all, and another name": {"--leader-election-id=mine", "mine", "gadgets/v1 widgets/v1 gadgets/v2"},
	} {
		var f flags
		set := pflag.NewFlagSet("op", pflag.ContinueOnError)
		f.register(set, "op", all)
		if err := set.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		chosen, err := f.choose("op", all)
		var served []string
		for _, w := range chosen {
			served = append(served, w.Resource.Plural+"/"+w.Resource.Version)
		}
		if err != nil || f.leaseName != test.lease || strings.Join(served, " ") != test.served {
			t.Errorf("%s: lease %s, served %v, %v", name, f.leaseName, served, err)
		}
	}
	var out, errOut bytes.Buffer
	p := Program{Name: "op", Watches: all}
	if code := p.Main([]string{"op", "--resources=widget"}, &out, &errOut); code != 2 || !strings.Contains(errOut.String(), `--resources: found "widget", must be one or more of gadgets, widgets`) {
		t.Errorf("one that there is not: code %d, %s", code, errOut.String())
	}
	if code := p.Main([]string{"op", "--help"}, &out, &errOut); code != 0 || !strings.Contains(out.String(), "serve only these of gadgets, widgets") {
		t.Errorf("help: %s", out.String())
	}
	if out, _, _ := called("--help"); strings.Contains(out, "--resources") {
		t.Errorf("a program that serves one resource offers a choice: %s", out)
	}
}

// kubeconfig writes a kubeconfig for an API server.
func kubeconfig(t *testing.T, url string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, url)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// free returns a loopback address on which no one listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// awaitMetrics returns the metrics at an address once they have a line.
func awaitMetrics(t *testing.T, address, line string) (text string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(text, line); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("there is no %s:\n%s", line, text)
		}
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			continue // it does not listen yet
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v", answer.Status, err)
		}
		text = string(body)
	}
	return text
}

// TestMetrics: the engine's metrics have the operator's name, or one that all operators share, and the operator's own are served beside
// them. promlint accepts all of them, including those of the libraries. Two metrics of one name end the program.
func TestMetrics(t *testing.T) {
	s := server.New(t)
	counter := func() prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "gadget_operator_restarts_total", Help: "Restarts."})
	}
	restarts := counter()
	restarts.Add(3)
	p := gadgets()
	p.Collectors = []prometheus.Collector{restarts}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var f flags
	all := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	f.register(all, p.Name, p.Watches)
	if err := all.Parse([]string{"--kubeconfig", kubeconfig(t, s.Listen(t)), "--metrics-bind-address", free(t), "--health-probe-bind-address=0"}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx, f, io.Discard) }()
	text := awaitMetrics(t, f.metrics.Address, `leader_election_master_status{name="gadget-operator"} 1`)
	for _, sample := range []string{"gadget_operator_restarts_total 3", `gadget_operator_build_info{goversion="go`,
		`gadget_operator_reconcile_errors_total{class="panic",kind="Gadget"} 0`,
		`gadget_operator_objects_converted_total{kind="Gadget",result="rejected"} 0`, `gadget_operator_converter_panics_total{kind="Gadget"} 0`,
		`gadget_operator_cached_objects{kind="Gadget"} 0`, `controller_runtime_reconcile_total{controller="gadgets",result="error"} 0`,
		`controller_runtime_reconcile_time_seconds_count{controller="gadgets"} 0`} {
		if !strings.Contains(text, "\n"+sample) {
			t.Errorf("there is no %s", sample)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.Collectors = append(p.Collectors, counter())
	if err := p.run(t.Context(), f, io.Discard); err == nil || !strings.HasPrefix(err.Error(), "register the operator's own metrics: ") {
		t.Errorf("two metrics of one name: %v", err)
	}
}

// TestStopsAtSIGTERM runs the program against an API server that serves nothing, until the process is interrupted.
func TestStopsAtSIGTERM(t *testing.T) {
	s := server.New(t)
	config := kubeconfig(t, s.Listen(t))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	probes := l.Addr().String()

	_, errOut, code := called("--kubeconfig", config, "--metrics-bind-address", "0", "--health-probe-bind-address", probes)
	if code != 1 || !strings.Contains(errOut, "error: --health-probe-bind-address: listen tcp "+probes) {
		t.Errorf("an address that is taken: code %d, stderr %q", code, errOut)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan string, 1)
	go func() {
		_, errOut, code := called("--kubeconfig", config, "--metrics-bind-address", "0", "--health-probe-bind-address", probes)
		ended <- fmt.Sprint(code, errOut)
	}()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if answer, err := http.Get("http://" + probes + "/readyz"); err == nil {
			ready := answer.StatusCode == http.StatusOK
			_ = answer.Body.Close()
			if ready {
				break
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the program is not ready")
		}
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case said := <-ended:
		if !strings.HasPrefix(said, "0") || !strings.Contains(said, `"msg":"stopped"`) || !strings.Contains(said, `"kinds":["Gadget"]`) {
			t.Errorf("ended with %s", said)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the program does not stop")
	}
}

// TestKeepSmall: memory is returned when all objects have been read and every minute after that, but not while a resource is read again.
// The collector is set only when its share changes, and within a second while objects are read.
func TestKeepSmall(t *testing.T) {
	for name, test := range map[string]struct {
		ours    bool // GOGC is not set
		changes []string
	}{
		"by what is in use": {true, []string{"0 s: 100", "12 s: 50", "270 s: 100"}},
		"GOGC is set":       {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				at := func() int { return int(time.Since(began) / time.Second) }
				unread := func() string {
					if at() < 30 || at() >= 100 && at() < 250 {
						return "tfjobs"
					}
					return ""
				}
				var freed []int
				var changes []string
				c := collector{free: func() { freed = append(freed, at()) }, inUse: func() uint64 {
					if at() >= 12 && at() < 240 {
						return largeHeap + 1
					}
					return largeHeap
				}}
				if test.ours {
					c.setPercent = func(percent int) { changes = append(changes, fmt.Sprintf("%d s: %d", at(), percent)) }
				}
				ctx, end := context.WithTimeout(t.Context(), 6*time.Minute)
				defer end()
				c.keepSmall(ctx, unread)
				if want := []int{30, 90, 270, 330}; !slices.Equal(freed, want) {
					t.Errorf("given back at %v, want %v", freed, want)
				}
				if diff := cmp.Diff(test.changes, changes); diff != "" {
					t.Errorf("the collector was set to (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestGoCollector: the collector of this process knows what is in use, and respects GOGC.
func TestGoCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "")
	c := goCollector()
	const size = 48 << 20
	held := make([]byte, size)
	runtime.GC()
	if n := c.inUse(); n < size {
		t.Errorf("%d bytes are in use, want at least %d", n, size)
	}
	runtime.KeepAlive(held)
	c.setPercent(50)
	if got := debug.SetGCPercent(100); got != 50 {
		t.Errorf("the collector was set to %d percent, want 50", got)
	}
	t.Setenv("GOGC", "300")
	if goCollector().setPercent != nil {
		t.Error("GOGC is set, and not obeyed")
	}
}

// TestKeepWithinMemory: nine tenths of the container's limit are set, and logged in one line; nothing is set without a limit, or if
// GOMEMLIMIT is set.
func TestKeepWithinMemory(t *testing.T) {
	initial := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(initial)
	failing := func(err error) memlimit.Provider { return func() (uint64, error) { return 0, err } }
	for name, test := range map[string]struct {
		container memlimit.Provider
		explicit  string
		want      int64
		lines     int
	}{
		"a limit":          {memlimit.Limit(1_000_000_000), "", 900_000_000, 1},
		"GOMEMLIMIT":       {memlimit.Limit(1_000_000_000), "off", initial, 0},
		"no limit":         {failing(memlimit.ErrNoLimit), "", initial, 0},
		"no control group": {failing(memlimit.ErrNoCgroup), "", initial, 0},
		"hardly any":       {memlimit.Limit(4096), "", minMemory, 1},
		"not readable":     {failing(errors.New("read memory.max: plenty")), "", initial, 1},
	} {
		t.Run(name, func(t *testing.T) {
			debug.SetMemoryLimit(initial)
			t.Setenv("GOMEMLIMIT", test.explicit)
			if test.explicit == "" {
				if err := os.Unsetenv("GOMEMLIMIT"); err != nil {
					t.Fatal(err)
				}
			}
			core, lines := observer.New(zap.InfoLevel)
			keepWithin(test.container, zap.New(core))
			if got := debug.SetMemoryLimit(-1); got != test.want || lines.Len() != test.lines {
				t.Errorf("limit %d, lines %v, want %d and %d lines", got, lines.All(), test.want, test.lines)
			}
		})
	}
}
