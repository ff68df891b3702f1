package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/training"
)

// recorder is between the operator and the API server and keeps the body of every POST, as it was sent.
type recorder struct {
	mu     sync.Mutex
	bodies map[string][][]byte // by path
}

// record starts a recorder and returns a kubeconfig that leads through it.
func (r *rig) record(t *testing.T) (*recorder, string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", r.cluster.UserKubeconfig("operator"))
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	recorder := &recorder{bodies: map[string][][]byte{}}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(q *httputil.ProxyRequest) { q.SetURL(server) },
		Transport:     transport,
		FlushInterval: -1, // watch events are delivered immediately
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		recorder.take(q)
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections() // also those of watches
		front.Close()
	})
	file := filepath.Join(t.TempDir(), "recorded.kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a","cluster":{"server":%q}}],
		"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"users":[{"name":"a","user":{}}]}`, front.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return recorder, file
}

func (r *recorder) take(q *http.Request) {
	if q.Method != http.MethodPost {
		return
	}
	body, err := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return // the proxy forwards what it has, and the API server reports the error
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies[q.URL.Path] = append(r.bodies[q.URL.Path], body)
}

func (r *recorder) posted(path string) [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies[path])
}

// unknownFieldsPosted: pod fields that no library knows, anywhere in a template, are in the bodies that the operator
// sends, each number to its last digit. An API server that knows them receives them. This one does not know them, and an event
// reports it. The job runs nevertheless.
func unknownFieldsPosted(t *testing.T, r *rig) {
	ns := r.namespace(t, "future")
	recorder, kubeconfig := r.record(t)
	r.operator(t, ns, "--kubeconfig", kubeconfig)
	r.kubectl(t, []byte(futureJob), "-n", ns, "create", "--validate=false", "-f", "-")
	r.awaitState(t, ns, "job", training.Succeeded)

	bodies := recorder.posted("/api/v1/namespaces/" + ns + "/pods")
	if len(bodies) != 2 {
		t.Fatalf("%d pods were posted, want 2", len(bodies))
	}
	for _, body := range bodies {
		checkFuture(t, body)
	}
	want := []string{"futureMode", "futureProbe", "futureSource", "someFutureField"}
	await(t, "a warning of each field", func() (bool, string) {
		var reported []string
		for _, e := range r.events(t, ns, "job") {
			if e.Type == "Warning" && e.Reason == "UnknownField" {
				reported = append(reported, e.Path[strings.LastIndexByte(e.Path, '.')+1:])
			}
		}
		slices.Sort(reported)
		return cmp.Equal(want, reported), fmt.Sprint(reported)
	})
}

const futureJob = `
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: job}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata:
          annotations: {simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}
        spec:
          someFutureField: {deep: [1, "x"]}
          volumes: [{name: data, futureSource: {a: {b: <&>}}}]
          containers:
          - name: tensorflow
            image: training:1
            futureProbe: {every: 9007199254740993, odds: 0.1}
            volumeMounts: [{name: data, mountPath: /data, futureMode: [true, {}]}]
`

// checkFuture compares the unknown fields of the posted pod, byte by byte.
func checkFuture(t *testing.T, body []byte) {
	t.Helper()
	var pod struct {
		Spec struct {
			SomeFutureField json.RawMessage `json:"someFutureField"`
			Volumes         []struct {
				FutureSource json.RawMessage `json:"futureSource"`
			} `json:"volumes"`
			Containers []struct {
				FutureProbe  json.RawMessage `json:"futureProbe"`
				VolumeMounts []struct {
					FutureMode json.RawMessage `json:"futureMode"`
				} `json:"volumeMounts"`
			} `json:"containers"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(body, &pod); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if len(pod.Spec.Volumes) != 1 || len(pod.Spec.Containers) != 1 || len(pod.Spec.Containers[0].VolumeMounts) != 1 {
		t.Fatalf("lost on the way: %s", body)
	}
	for _, c := range []struct {
		got  json.RawMessage
		want string
	}{
		{pod.Spec.SomeFutureField, `{"deep":[1,"x"]}`},
		{pod.Spec.Volumes[0].FutureSource, `{"a":{"b":"<&>"}}`},
		{pod.Spec.Containers[0].FutureProbe, `{"every":9007199254740993,"odds":0.1}`},
		{pod.Spec.Containers[0].VolumeMounts[0].FutureMode, `[true,{}]`},
	} {
		if string(c.got) != c.want {
			t.Errorf("posted %s, want %s", c.got, c.want)
		}
	}
}
