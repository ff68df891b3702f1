package manager

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stoic/training/kinds"
)

var update = flag.Bool("update", false, "write what the golden files should say")

// called runs the program as it would be run from a shell.
func called(args ...string) (out, errOut string, code int) {
	var stdout, stderr bytes.Buffer
	code = Main(args, strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// outside clears the environment variables that name an API server, and returns the path of a file that does not exist.
func outside(t *testing.T) (missing string) {
	t.Helper()
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBEFLOW_NAMESPACE", "MY_POD_NAMESPACE", "MY_POD_NAME"} {
		t.Setenv(name, "")
	}
	return filepath.Join(t.TempDir(), "missing")
}

// TestCalls: the exit code of each call, and the words that its user needs.
func TestCalls(t *testing.T) {
	missing := outside(t)
	for _, test := range []struct {
		call string
		code int
		says string // in stderr, or in stdout if the code is 0
	}{
		{"stoic version", 0, "stoic dev (go"},
		{"stoic validate", 2, `unknown command "validate" for "stoic"`},
		{"manager controller --leader-elect", 2, "no API server"},
		{"stoic controller --nonsense", 2, "unknown flag: --nonsense\nSee 'stoic controller --help'."},
		{"stoic controller extra", 2, `unknown command "extra" for "stoic controller"`},
		{"stoic controller", 2, "no API server: this is not a pod; give --kubeconfig or set KUBECONFIG"},
		{"manager", 2, "no API server"},
		{"/manager --leader-elect", 2, "no API server"},
		{"manager -leader-elect -controller-threads=0", 2, "--controller-threads: found 0"},
		{"manager -kube-api-qps -1 -namespace team", 2, "no API server"},
		{"manager -h", 0, "Run the operator"},
		{"stoic controller -leader-elect", 2, "unknown shorthand flag: 'l' in -leader-elect"},
		{"/usr/bin/manager.exe --help", 0, "Run the operator"},
		{"manager --nonsense", 2, "unknown flag: --nonsense"},
		{"stoic controller --kubeconfig " + missing, 2, "read the kubeconfig " + missing},
		{"stoic controller --controller-threads 0", 2, "--controller-threads: found 0, must be at least 1"},
		{"stoic controller --controller-threads many", 2, `invalid argument "many" for "--controller-threads"`},
		{"stoic controller --kube-api-qps 0", 2, "--kube-api-qps: found 0, must be positive, or -1 for no limit"},
		{"stoic controller --kube-api-qps NaN", 2, "--kube-api-qps: found NaN"},
		{"stoic controller --kube-api-qps -1", 2, "no API server"},
		{"stoic controller --event-qps 0", 2, "--event-qps: found 0, must be positive, or -1 for no limit"},
		{"stoic controller --kube-api-burst 0", 2, "--kube-api-burst: found 0, must be at least 1"},
		{"stoic controller --gang-scheduler-name volcano", 2, "no API server"},
		{"stoic controller --gang-scheduler-name a,b", 2, `--gang-scheduler-name: found "a,b", must be the name of a scheduler`},
		{"stoic controller --gang-scheduler-name=", 2, "no API server"},
		{"stoic controller --native-gang-scheduling", 2, "no API server"},
		{"stoic controller --native-gang-scheduling --gang-scheduler-name volcano", 2, "--native-gang-scheduling: found beside --gang-scheduler-name"},
		{"stoic controller --enable-scheme TFJob", 2, "no API server"},
		{"stoic controller --enable-scheme tfjob --enable-scheme TFJOB", 2, "no API server"},
		{"stoic controller --enable-scheme pytorchjob --enable-scheme TFJob", 2, "no API server"},
		{"stoic controller --enable-scheme tfjob,rayjob", 2, `--enable-scheme: found "rayjob", must be one of ` + strings.Join(kindNames(kinds.All()), ", ")},
		{"stoic controller --pytorch-init-container-max-tries 0", 2, "--pytorch-init-container-max-tries: found 0, must be at least 1"},
		{"stoic controller --pytorch-init-container-template-file " + missing, 2, "--pytorch-init-container-template-file: open " + missing},
		{"stoic controller --enable-scheme=", 2, "no API server"},
		{"stoic controller --namespace a,b", 2, `--namespace: found "a,b", must be the name of one namespace`},
		{"stoic controller --leader-election-id=", 2, `--leader-election-id: found "", must be a name`},
		{"stoic controller --metrics-bind-address=", 2, `--metrics-bind-address: found "", must be an address`},
		{"stoic controller --health-probe-bind-address=", 2, `--health-probe-bind-address: found "", must be an address`},
		{"stoic controller --zap-log-level loud", 2, `--zap-log-level: found "loud", must be "debug", "info", "warn", "error" or a number`},
		{"stoic controller --zap-encoder xml", 2, `--zap-encoder: found "xml", must be "json" or "console"`},
		{"stoic controller --zap-encoder console --zap-log-level 5 --zap-devel", 2, "no API server"},
		{"stoic controller --zap-log-level -3", 2, "no API server"},
	} {
		t.Run(test.call, func(t *testing.T) {
			out, errOut, code := called(strings.Fields(test.call)...)
			where := errOut
			if code == 0 {
				where = out
			}
			if code != test.code || !strings.Contains(where, test.says) {
				t.Errorf("code %d, want %d; stdout %q, stderr %q, want %q", code, test.code, out, errOut, test.says)
			}
			if strings.Contains(errOut, "panic") || strings.Contains(errOut, "goroutine") {
				t.Errorf("a trace: %s", errOut)
			}
		})
	}
}

// TestHelpGolden: the help of the program, and what it says as manager, word for word. `go test ./cli/manager -update` writes it.
func TestHelpGolden(t *testing.T) {
	for _, name := range []string{"stoic", "manager"} {
		t.Setenv("KUBEFLOW_NAMESPACE", "elsewhere") // help reads the same everywhere
		out, errOut, code := called(name, "--help")
		if code != 0 || errOut != "" {
			t.Fatalf("code %d, stderr %q", code, errOut)
		}
		file := filepath.Join("testdata", "help", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if out != string(want) {
			t.Errorf("%s says\n%s\nwant\n%s\n-update to accept", name, out, want)
		}
	}
}

// TestDependencies: the operator's program has nothing of the command line: no local control plane, no example operators and no starter.
func TestDependencies(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "stoic")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "stoic/cli/manager") {
		t.Fatal("the program has no commands")
	}
	for _, dependency := range linked {
		for _, unwanted := range []string{"stoic/cli/cluster", "stoic/cli/starter", "stoic/examples", "stoic/deploy", "stoic/schema/crd"} {
			if dependency == unwanted || strings.HasPrefix(dependency, unwanted+"/") {
				t.Errorf("the program links %s", dependency)
			}
		}
	}
	if slices.Contains(linked, "stoic/cli") {
		t.Error("the program links the command line")
	}
}
