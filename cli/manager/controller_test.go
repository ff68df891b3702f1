package manager

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

// unreachable returns a kubeconfig whose API server does not answer.
func unreachable(t *testing.T) string {
	t.Helper()
	closed := free(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"http://%s"}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, closed)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// free returns a loopback address on which no one listens, and which no other test receives meanwhile.
func free(t *testing.T) string {
	t.Helper()
	address, err := operator.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func occupied(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestKubeconfig(t *testing.T) {
	missing := outside(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	empty, nonsense, foreign := write("empty", ""), write("nonsense", "{"), write("foreign", "kind: Pod\napiVersion: v1\n")
	good := unreachable(t)
	for name, test := range map[string]struct{ flag, environment, says string }{
		"missing":             {missing, "", "read the kubeconfig " + missing},
		"a folder":            {folder, "", "read the kubeconfig " + folder},
		"empty":               {empty, "", "it names no cluster"},
		"not YAML":            {nonsense, "", "read the kubeconfig " + nonsense},
		"something else":      {foreign, "", "read the kubeconfig " + foreign},
		"environment missing": {"", missing, "read the kubeconfig " + missing + ": it names no cluster"},
		"nothing":             {"", "", "no API server: this is not a pod; give --kubeconfig or set KUBECONFIG"},
		"flag wins":           {missing, good, "read the kubeconfig " + missing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", test.environment)
			_, errOut, code := called("stoic", "controller", "--kubeconfig", test.flag)
			if code != 2 || !strings.Contains(errOut, test.says) || strings.Count(errOut, "\n") != 1 {
				t.Errorf("code %d, stderr %q, want one line with %q", code, errOut, test.says)
			}
		})
	}
	t.Run("a list of files", func(t *testing.T) {
		t.Setenv("KUBECONFIG", missing+string(os.PathListSeparator)+good)
		f := controllerFlags{qps: 7, burst: 9}
		config, err := f.config()
		if err != nil || !strings.HasPrefix(config.Host, "http://127.0.0.1:") || config.QPS != 7 || config.Burst != 9 {
			t.Errorf("%+v, %v", config, err)
		}
	})
}

// TestInPod: the environment is that of a pod, but no service account is mounted.
func TestInPod(t *testing.T) {
	outside(t)
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	_, errOut, code := called("stoic", "controller")
	if code != 1 || !strings.Contains(errOut, "read the service account of the pod") {
		t.Errorf("code %d, stderr %q", code, errOut)
	}
}

func TestEnvironmentFillsWhatFlagsLeave(t *testing.T) {
	for name, test := range map[string]struct{ args, namespace, lease string }{
		"nothing":   {"", "team", "elsewhere"},
		"flags win": {"--namespace mine --leader-election-namespace ours", "mine", "ours"},
		"all":       {"--namespace=", "", "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBEFLOW_NAMESPACE", "team")
			t.Setenv("MY_POD_NAMESPACE", "elsewhere")
			var f controllerFlags
			cmd := &cobra.Command{}
			f.register(cmd.Flags())
			if err := cmd.ParseFlags(strings.Fields(test.args)); err != nil {
				t.Fatal(err)
			}
			f.fill(cmd.Flags())
			if f.namespace != test.namespace || f.leaseSpace != test.lease {
				t.Errorf("namespace %q, lease in %q", f.namespace, f.leaseSpace)
			}
		})
	}
	t.Setenv("MY_POD_NAMESPACE", "")
	var f controllerFlags
	f.fill((&cobra.Command{}).Flags())
	if f.leaseSpace != "kubeflow" {
		t.Errorf("lease in %q without environment", f.leaseSpace)
	}
}

func TestServedKinds(t *testing.T) {
	for name, test := range map[string]struct{ given, want []string }{
		"all":      {nil, kindNames(kinds.Served())},
		"both":     {[]string{"tfjob", "pytorchjob"}, []string{"TFJob", "PyTorchJob"}},
		"later":    {[]string{"XGBoostJob", "paddlejob", "JaxJob"}, []string{"XGBoostJob", "PaddleJob", "JAXJob"}},
		"case":     {[]string{"tfJOB"}, []string{"TFJob"}},
		"repeated": {[]string{"TFJob", "tfjob"}, []string{"TFJob"}},
		"blanks":   {[]string{" TFJob"}, []string{"TFJob"}},
	} {
		f := controllerFlags{kinds: test.given, wait: waitFlags{file: waitFile, tries: 1}}
		kinds, err := f.served()
		if diff := cmp.Diff(test.want, kindNames(kinds)); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
	}
}

// TestMeaninglessFlags: a command line of the operator that this one replaces is accepted, with one warning per flag.
func TestMeaninglessFlags(t *testing.T) {
	missing := outside(t)
	given := []string{"manager", "--kubeconfig", missing}
	names := append(meaningless(), "zap-stacktrace-level", "zap-time-encoding")
	for _, name := range names {
		given = append(given, "--"+name, "1", "--"+name+"=2")
	}
	_, errOut, code := called(given...)
	if code != 2 || !strings.Contains(errOut, "read the kubeconfig") {
		t.Fatalf("code %d, stderr %q", code, errOut)
	}
	var warned []string
	for line := range strings.Lines(errOut) {
		var entry struct{ Level, Msg, Flag string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		if entry.Level != "warn" || entry.Msg != "a flag without effect was given" {
			t.Errorf("line %q", line)
		}
		warned = append(warned, strings.TrimPrefix(entry.Flag, "--"))
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, warned); diff != "" {
		t.Errorf("warned of (-want +got):\n%s", diff)
	}
	help, _, _ := called("manager", "--help")
	for _, name := range names {
		if strings.Contains(help, name) {
			t.Errorf("help shows --%s", name)
		}
	}
}

// TestPortInUse: the error does not wait for the API server, names the flag to change, and nothing is left open.
func TestPortInUse(t *testing.T) {
	outside(t)
	config := unreachable(t)
	for _, flag := range []string{"--metrics-bind-address", "--health-probe-bind-address"} {
		t.Run(flag, func(t *testing.T) {
			taken, other := occupied(t).Addr().String(), free(t)
			otherFlag := "--health-probe-bind-address"
			if flag == otherFlag {
				otherFlag = "--metrics-bind-address"
			}
			_, errOut, code := called("stoic", "controller", "--kubeconfig", config, flag, taken, otherFlag, other)
			if code != 1 || !strings.Contains(errOut, "error: "+flag+": listen tcp "+taken) {
				t.Errorf("code %d, stderr %q", code, errOut)
			}
			l, err := net.Listen("tcp", other)
			if err != nil {
				t.Fatalf("the other address is still taken: %v", err)
			}
			l.Close()
		})
	}
	_, errOut, code := called("stoic", "controller", "--kubeconfig", config, "--metrics-bind-address", "nonsense")
	if code != 1 || !strings.Contains(errOut, "--metrics-bind-address: listen tcp: address nonsense: missing port") {
		t.Errorf("code %d, stderr %q", code, errOut)
	}
}

// asManager makes this test's program the operator.
const asManager = "STOIC_TEST_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// TestAPIServerDown: the operator waits, its probes report that, and it stops on request.
func TestAPIServerDown(t *testing.T) {
	outside(t)
	t.Setenv(asManager, "1")
	for _, more := range []string{"", "--leader-elect"} {
		t.Run("flags "+more, func(t *testing.T) {
			command := []string{os.Args[0], "controller", "--kubeconfig", unreachable(t), "--health-probe-bind-address", "{probes}", "--metrics-bind-address", "{metrics}"}
			p := operator.Started(t, operator.Options{Command: append(command, strings.Fields(more)...)})
			operator.Await(t, time.Minute, "the probe of its life", func() (bool, string) {
				code := p.Probe(t.Context(), "/healthz")
				return code == http.StatusOK, fmt.Sprint(code)
			})
			if code := p.Probe(t.Context(), "/readyz"); code != http.StatusServiceUnavailable {
				t.Errorf("/readyz answers %d", code)
			}
			if _, err := p.Metrics(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func kindNames(kinds []*training.Kind) []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}
