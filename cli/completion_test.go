package cli

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"stoic/cli/command"
)

// TestCompletesValues: what shells offer after a flag. The directive :4 means no files, :16 means folders.
func TestCompletesValues(t *testing.T) {
	outside(t)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	write(t, kubeconfig, []byte("contexts: [{name: b, context: {}}, {name: a, context: {}}]\n"))
	t.Setenv("KUBECONFIG", kubeconfig)
	other := filepath.Join(t.TempDir(), "other")
	write(t, other, []byte("contexts: [{name: c, context: {}}]\n"))
	kinds := "MPIJob TFJob"
	for call, want := range map[string]string{
		"validate --kind ":               kinds + " :4",
		"validate --kind TFJob,":         "TFJob,MPIJob :4",
		"validate --context ":            "a b :4",
		"migrate --context ":             "a b :4",
		"validate --namespace ":          ":4",
		"controller --enable-scheme ":    kinds + " :4",
		"controller --zap-log-level ":    "debug info warn error :4",
		"webhook --zap-encoder ":         "json console :4",
		"version -o ":                    "json :4",
		"webhook certificate --service ": ":4",
		"up --examples ":                 ":16",
		"up --source ":                   ":16",
		"up --store ":                    "etcd kine :4",
		"convert --to ":                  "v1 :4",
		"help crd ":                      "check generate :4",
		"help cr":                        "crd :4",
		"help crd nope ":                 ":4",
		"validate --kubeconfig " + other + " --context ": "c :4",
	} {
		args := strings.Split(call, " ")
		out, _, code := called(append([]string{"stoic", "__complete"}, args...)...)
		var got []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		offered := " " + strings.Join(got, " ") + " "
		for _, word := range strings.Fields(want) {
			if !strings.Contains(offered, " "+word+" ") {
				t.Errorf("%s: code %d, %q, want %s", call, code, offered, word)
			}
		}
		if len(got) != len(strings.Fields(want)) && !strings.Contains(want, "MPIJob") {
			t.Errorf("%s: %q, want %s alone", call, offered, want)
		}
	}
}

// TestExplainAsPlugin: the commands in the output can be typed.
func TestExplainAsPlugin(t *testing.T) {
	for call, want := range map[string]string{"": "kubectl stoic explain tfjob", "StatusBlocked": "kubectl stoic crd check fails", "nothing.at.all": "`kubectl stoic explain` lists them"} {
		out, errOut, code := called(append([]string{"kubectl-stoic", "explain"}, strings.Fields(call)...)...)
		if all := out + errOut; !strings.Contains(all, want) || strings.Contains(strings.ReplaceAll(all, "kubectl stoic", ""), "stoic explain") || (code == 2) != (errOut != "") {
			t.Errorf("%q: code %d, %.300s", call, code, all)
		}
	}
}

// full is a writer of a device without free space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestHelpIsWritten: if the help cannot be written, the call fails.
func TestHelpIsWritten(t *testing.T) {
	for _, call := range []string{"--help", "help", "help crd", "crd", "init", "crd check --help", "completion bash", "version", "explain"} {
		var talk strings.Builder
		code := Main(append([]string{"stoic"}, strings.Fields(call)...), strings.NewReader(""), full{}, &talk)
		if code != 1 || !strings.Contains(talk.String(), syscall.ENOSPC.Error()) || strings.Contains(talk.String(), "See '") {
			t.Errorf("%s: code %d, stderr %q", call, code, talk.String())
		}
	}
}

// TestConnection: the error says why there is no cluster to ask, and client-go writes nothing of its own.
func TestConnection(t *testing.T) {
	missing := outside(t)
	t.Cleanup(klog.ClearLogger)
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, nil)
	for variable, want := range map[string]string{
		missing: "no cluster to ask: " + missing + " does not exist; give --kubeconfig or set KUBECONFIG",
		missing + string(filepath.ListSeparator) + empty: "no cluster to ask: " + missing + " does not exist, " + empty + " names none; give --kubeconfig or set KUBECONFIG",
	} {
		t.Setenv("KUBECONFIG", variable)
		_, _, err := new(connection).open()
		var ended *command.ExitError
		if !errors.As(err, &ended) || ended.Code != 2 {
			t.Errorf("%s: %v", variable, err)
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
	if sink := klog.Background().GetSink(); sink != nil {
		t.Errorf("client-go logs to %T", sink)
	}
	oidc := filepath.Join(t.TempDir(), "oidc")
	write(t, oidc, []byte(`apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
users: [{name: a, user: {auth-provider: {name: oidc, config: {idp-issuer-url: "https://example.com", client-id: x, id-token: a}}}}]
`))
	config, _, err := (&connection{kubeconfig: oidc}).open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rest.TransportFor(config); err != nil {
		t.Error(err)
	}
}
