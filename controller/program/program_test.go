package program

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

func TestHelp(t *testing.T) {
	out, errOut, code := called("--help")
	if code != 0 || errOut != "" {
		t.Errorf("code %d, stderr %q", code, errOut)
	}
	for _, says := range []string{"Keeps gadgets.\n", "gadget-operator [flags]", "--kubeconfig string", "--namespace string", "--metrics-bind-address string",
		"--health-probe-bind-address string", "--leader-elect ", `(default "gadget-operator")`, "--leader-election-namespace", "--zap-log-level"} {
		if !strings.Contains(out, says) {
			t.Errorf("--help does not say %q:\n%s", says, out)
		}
	}
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
		"":                                      "no API server: this is not a pod",
		"--kubeconfig=/no/such/file":            "read the kubeconfig /no/such/file",
	} {
		_, errOut, code := called(strings.Fields(args)...)
		if code != 2 || !strings.Contains(errOut, says) || !strings.Contains(errOut, "See 'gadget-operator --help'.") {
			t.Errorf("%q: code %d, stderr %q, want %q", args, code, errOut, says)
		}
	}
}

// TestStopsAtSIGTERM runs the program against an API server that serves nothing, until the process is interrupted.
func TestStopsAtSIGTERM(t *testing.T) {
	s := server.New(t)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, s.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
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
	case <-time.After(20 * time.Second):
		t.Fatal("the program does not stop")
	}
}
