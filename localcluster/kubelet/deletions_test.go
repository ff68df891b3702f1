package kubelet

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"stoic/localcluster/simulation"
)

// server answers with the code that is next and keeps what it was asked.
type server struct {
	codes []int
	asked []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text := r.Method + " " + r.URL.Path
	if r.Method == http.MethodDelete {
		options := &metav1.DeleteOptions{}
		if body, err := io.ReadAll(r.Body); err != nil {
			text += " " + err.Error()
		} else if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, options); err != nil {
			text += " " + err.Error()
		} else if p := options.Preconditions; p != nil && p.UID != nil {
			text += fmt.Sprintf(" only %s in %ds", *p.UID, *options.GracePeriodSeconds)
		}
	}
	s.asked = append(s.asked, text)
	code := http.StatusOK
	if len(s.codes) > 0 {
		code, s.codes = s.codes[0], s.codes[1:]
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if code == http.StatusOK {
		fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1"}`)
		return
	}
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, http.StatusText(code), code)
}

const deletedPatch = `{"metadata":{"uid":%q,"resourceVersion":"1"},"status":{"conditions":[{"type":"simulation.stoic/deleted","status":"True"}]}}`

// TestDeletionsNameTheirPod sends what kwok sends: patches, and deletions that name no UID.
func TestDeletionsNameTheirPod(t *testing.T) {
	const running = `{"metadata":{"uid":%q},"status":{"phase":"Running"}}`
	for name, c := range map[string]struct {
		do    string // p: a patch that ends a pod, r: one that does not, d: a deletion; then the number of the pod
		codes []int
		want  []string // the deletions that arrive
		fails string   // numbers of the steps that fail
	}{
		"one":                      {"p1 d1", nil, []string{"only 1"}, ""},
		"tried again, successor":   {"p1 d1 r2 d1", []int{200, 429, 200, 409}, []string{"only 1", "only 1"}, "1 3"},
		"successor ends, too":      {"p1 d1 r2 p2 d2", nil, []string{"only 1", "only 2"}, ""},
		"nothing said":             {"d1", nil, nil, "0"},
		"not the end of a pod":     {"r1 d1", nil, nil, "1"},
		"refused patch":            {"p1 d1", []int{409}, nil, "0 1"},
		"refused once accepted":    {"p1 p1 d1", []int{200, 409}, []string{"only 1"}, "1"},
		"once only":                {"p1 d1 d1", nil, []string{"only 1"}, "2"},
		"outcome of patch unknown": {"p1 p1 d1", []int{503}, []string{"only 1"}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{codes: c.codes}
			pods := client(t, s).CoreV1().Pods("ns")
			var failed []string
			for i, word := range strings.Fields(c.do) {
				var err error
				switch word[0] {
				case 'p':
					_, err = pods.Patch(t.Context(), "pod", types.StrategicMergePatchType, fmt.Appendf(nil, deletedPatch, word[1:]), metav1.PatchOptions{}, "status")
				case 'r':
					_, err = pods.Patch(t.Context(), "pod", types.StrategicMergePatchType, fmt.Appendf(nil, running, word[1:]), metav1.PatchOptions{}, "status")
				case 'd':
					err = pods.Delete(t.Context(), "pod", *metav1.NewDeleteOptions(0))
				}
				if err != nil {
					failed = append(failed, fmt.Sprint(i))
				}
			}
			if got := strings.Join(failed, " "); got != c.fails {
				t.Errorf("the steps %q fail, want %q", got, c.fails)
			}
			var got []string
			for _, text := range s.asked {
				if rest, found := strings.CutPrefix(text, "DELETE /api/v1/namespaces/ns/pods/pod "); found {
					got = append(got, strings.TrimSuffix(rest, " in 0s"))
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("the deletions that arrive: %q, want %q; all requests: %q", got, c.want, s.asked)
			}
		})
	}
}

// TestOtherRequestsPass unchanged.
func TestOtherRequestsPass(t *testing.T) {
	s := &server{}
	c := client(t, s)
	if _, err := c.CoreV1().Pods("ns").UpdateStatus(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod"}}, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.CoreV1().Nodes().Delete(t.Context(), "node", *metav1.NewDeleteOptions(0)); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.asked, ", "); got != "PUT /api/v1/namespaces/ns/pods/pod/status, DELETE /api/v1/nodes/node" {
		t.Errorf("asked: %s", got)
	}
}

// client whose configuration names the plugin, as kwok's kubeconfig does.
func client(t *testing.T, s *server) kubernetes.Interface {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	config := &rest.Config{Host: web.URL, AuthProvider: &clientcmdapi.AuthProviderConfig{Name: simulation.DeletionPlugin}}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMain registers the plugin, which can be done once in a process.
func TestMain(m *testing.M) {
	if err := RegisterDeletions(); err != nil {
		panic(err)
	}
	m.Run()
}
