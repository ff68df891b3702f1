package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"stoic/controller/program"
	"stoic/training/kinds"
)

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
		{"stoic", 0, "stoic up"},
		{"stoic --help", 0, "Available Commands:"},
		{"stoic help", 0, "Available Commands:"},
		{"stoic help version", 0, "stoic version -o json"},
		{"stoic help crd check", 0, "stoic crd check deploy/crd"},
		{"stoic help crd nope", 2, "unknown command \"nope\" for \"stoic crd\"\n"},
		{"stoic help init opertor", 2, "Did you mean this?\n\toperator"},
		{"stoic help webhook certificat", 2, "Did you mean this?\n\tcertificate"},
		{"stoic help version extra", 2, `unknown command "extra" for "stoic version"`},
		{"stoic help contrller", 2, "Did you mean this?\n\tcontroller"},
		{"stoic contrller", 2, "unknown command \"contrller\" for \"stoic\"\n\nDid you mean this?\n\tcontroller\nSee 'stoic --help'."},
		{"stoic nonsense", 2, "unknown command \"nonsense\" for \"stoic\"\nSee 'stoic --help'."},
		{"stoic --nonsense", 2, "unknown flag: --nonsense\nSee 'stoic --help'."},
		{"stoic version extra", 2, `unknown command "extra" for "stoic version"`},
		{"stoic version", 0, "stoic dev (go"},
		{"stoic version -o xml", 2, `--output: found "xml", must be "json" or be left out`},
		{"stoic version -o", 2, "flag needs an argument: 'o' in -o\nSee 'stoic version --help'."},
		{"stoic completion", 0, "Available Commands:"},
		{"stoic completion bsh", 2, `found shell "bsh", must be bash, fish, powershell or zsh`},

		{"stoic crd", 0, "Available Commands:"},
		{"stoic crd chek", 2, "unknown command \"chek\" for \"stoic crd\"\n\nDid you mean this?\n\tcheck\nSee 'stoic crd --help'."},
		{"stoic crd generate", 2, "accepts 1 arg(s), received 0"},
		{"stoic crd generate ./x --check", 2, "--check: compares with files; name their folder with -o"},
		{"stoic crd generate . --engine " + missing, 1, "is no checkout of stoic"},
		{"stoic crd check", 2, "nothing to check"},
		{"stoic crd check -o xml x", 2, `--output: found "xml"`},
		{"stoic crd check --ignore TypeMismatch x", 2, `--ignore: found "TypeMismatch", must be one of NotStructural, `},
		{"stoic crd check --against - x", 2, "--against: names a file"},
		{"stoic crd check " + missing, 2, missing},
		{"stoic init", 0, "Available Commands:"},
		{"stoic init operater", 2, "Did you mean this?\n\toperator"},
		{"stoic init operator", 2, `--group: found "", must be a domain name in lower case`},
		{"stoic init operator x --group a.b --kind A", 2, `unknown command "x" for "stoic init operator"`},
		{"stoic init operator --group Apps.example.com --kind Foo", 2, `--group: found "Apps.example.com", must be a domain name`},
		{"stoic init operator --group apps.k8s.io --kind Foo", 2, `--group: found "apps.k8s.io", must be outside of k8s.io`},
		{"stoic init operator --group a.b", 2, `--kind: found "", must be letters and digits`},
		{"stoic init operator --group a.b --kind fooBar", 2, `--kind: found "fooBar", must be letters and digits that begin with a capital letter, such as FooBar; did you mean "FooBar"?`},
		{"stoic init operator --group a.b --kind Job", 2, `--kind: found "Job", must not be a kind of Kubernetes (batch/v1)`},
		{"stoic init operator --group a.b --kind configmap", 2, `did you mean "Configmap"?`},
		{"stoic init operator --group a.b --kind Configmap", 2, `must not be a kind of Kubernetes (v1)`},
		{"stoic init operator --group a.b --kind Range", 2, `--kind: found "Range", must not be a reserved word of Go`},
		{"stoic init operator --group a.b --kind FooList", 2, "must not end in List"},
		{"stoic init operator --group a.b --kind Foo --version one", 2, `--version: found "one", must be such as v1alpha1`},
		{"stoic init operator --group a.b --kind Foo --plural foo", 2, `--plural: found "foo", must differ from the singular`},
		{"stoic init operator --group a.b --kind Foo --fields a:text", 2, `--fields: found "a:text", must have one of the types string, int, bool, []string, []int`},
		{"stoic init operator --group a.b --kind Foo --fields a:strin", 2, `did you mean "string"?`},
		{"stoic init operator --group a.b --kind Foo --fields A:int", 2, `--fields: found "A:int", must be NAME:TYPE`},
		{"stoic init operator --group a.b --kind Foo --fields a:int,a:bool", 2, `--fields: found "a:bool", must have a name of its own`},
		{"stoic init operator --group a.b --kind Foo --fields on:bool", 2, "have a name that is no truth value in YAML"},
		{"stoic init operator --group a.b --kind Foo --module foo", 2, `--module: found "foo", must be the path of a Go module`},
		{"stoic init operator --group a.b --kind Foo --dir ../cli", 2, `--dir: found ../cli with`},
		{"stoic init operator --group a.b --kind Foo --dir " + missing + "/x", 2, "must be in a folder that exists"},
		{"stoic init operator --group a.b --kind Foo --engine /", 2, "/ is no checkout of stoic"},
		{"stoic validate --live --kind rayjob", 2, `--kind: found "rayjob", must be one of ` + strings.Join(kindNames(), ", ")},
		{"stoic validate --live --kind=", 2, `--kind: found "", must be one of `},
		{"stoic validate --kind TFJob x.yaml", 2, "--kind: goes with --live only"},

		{"stoic up --nodes x", 2, `invalid argument "x" for "--nodes"`},
		{"stoic up extra", 2, `unknown command "extra" for "stoic up"`},
		{"stoic up --examples " + missing, 2, "read the examples in "},
	} {
		t.Run(test.call, func(t *testing.T) {
			out, errOut, code := called(strings.Fields(test.call)...)
			where := errOut
			if code == 0 {
				where = out
				if errOut != "" {
					t.Errorf("it worked, and yet stderr says %q", errOut)
				}
			} else if out != "" {
				t.Errorf("it failed, and yet stdout says %q", out)
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

// TestHelpGolden: the help of every command, word for word. `go test ./cli -update` writes it.
func TestHelpGolden(t *testing.T) {
	calls := map[string][]string{"stoic": {"stoic", "--help"}, "kubectl-stoic": {"kubectl-stoic", "--help"},
		"kubectl-stoic-validate": {"/usr/local/bin/kubectl-stoic", "validate", "--help"}}
	for _, c := range visibleCommands(Commands()) {
		calls[strings.ReplaceAll(c, " ", "-")] = append(strings.Fields(c), "--help")
	}
	for name, args := range calls {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBEFLOW_NAMESPACE", "elsewhere") // help reads the same everywhere
			t.Setenv("MY_POD_NAMESPACE", "elsewhere")
			out, errOut, code := called(args...)
			if code != 0 || errOut != "" {
				t.Fatalf("code %d, stderr %q", code, errOut)
			}
			sameText(t, filepath.Join("testdata", "help", name+".txt"), out)
		})
	}
}

// visibleCommands returns the commands below one, recursively, except the shells of completion.
func visibleCommands(root *cobra.Command) (paths []string) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			paths = append(paths, c.CommandPath())
		}
		if c.Name() != "completion" {
			paths = append(paths, visibleCommands(c)...)
		}
	}
	return paths
}

// TestEveryCommandHelps: each command says in one line what it does, and shows how it is called.
func TestEveryCommandHelps(t *testing.T) {
	groups := []*cobra.Command{}
	for _, c := range Commands().Commands() {
		if c.HasSubCommands() && c.Name() != "completion" {
			groups = append(groups, c.Commands()...)
		}
	}
	for _, c := range append(groups, Commands().Commands()...) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
		if c.Name() != "help" && c.Name() != "completion" && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
}

// TestPluginOfKubectl: a user of the plugin reads commands that can be typed.
func TestPluginOfKubectl(t *testing.T) {
	out, _, _ := called("/usr/local/bin/kubectl-stoic", "version", "--help")
	if !strings.Contains(out, "Usage:\n  kubectl stoic version [flags]") {
		t.Errorf("usage does not say kubectl stoic:\n%s", out)
	}
	_, errOut, code := called("kubectl-stoic", "version", "--nonsense")
	if want := "See 'kubectl stoic version --help'."; code != 2 || !strings.Contains(errOut, want) {
		t.Errorf("code %d, stderr %q, want %q", code, errOut, want)
	}
}

func TestCompletion(t *testing.T) {
	for shell, part := range map[string]string{"bash": "__start_stoic", "zsh": "#compdef stoic", "fish": "complete -c stoic", "powershell": "Register-ArgumentCompleter"} {
		out, errOut, code := called("stoic", "completion", shell)
		if code != 0 || errOut != "" || !strings.Contains(out, part) {
			t.Errorf("%s: code %d, stderr %q, %d bytes without %q", shell, code, errOut, len(out), part)
		}
	}
	// What the scripts ask the program.
	out, _, code := called("stoic", "__complete", "contr")
	if code != 0 || !strings.HasPrefix(out, "controller\tRun the operator\n") {
		t.Errorf("code %d, %q", code, out)
	}
	out, _, code = called("stoic", "__complete", "controller", "--kube-api-q")
	if code != 0 || !strings.HasPrefix(out, "--kube-api-qps\t") {
		t.Errorf("code %d, %q", code, out)
	}
	out, _, _ = called("stoic", "__complete", "controller", "--webhook")
	if strings.Contains(out, "--webhook") {
		t.Errorf("a flag without effect is offered: %q", out)
	}
}

func TestVersionForPrograms(t *testing.T) {
	out, errOut, code := called("stoic", "version", "-o", "json")
	var b program.Build
	if err := json.Unmarshal([]byte(out), &b); err != nil || code != 0 || errOut != "" {
		t.Fatalf("code %d, stderr %q, %v in %q", code, errOut, err, out)
	}
	if b.Version != "dev" || b.Go != runtime.Version() || b.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%+v", b)
	}
}

// sameText compares what was printed with a file, or writes the file.
func sameText(t *testing.T, file, out string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out); diff != "" {
		t.Errorf("%s (-want +got), -update to accept:\n%s", file, diff)
	}
}

// kindNames returns the names of all kinds.
func kindNames() (names []string) {
	for _, k := range kinds.All() {
		names = append(names, k.Name)
	}
	return names
}
