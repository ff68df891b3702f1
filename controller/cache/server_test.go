package cache

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/serve"
	"stoic/internal/lean"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

// apiServer is the model of the API server, and the requests that it received.
type apiServer struct {
	*server.Server
	requests []server.Request // lists and watches
	// fail answers a request with an error, if it returns a code.
	fail func(server.Request) int
}

func widgets() schema.Resource {
	return schema.Resource{Group: "example.org", Version: "v1", Plural: "widgets", Kind: "Widget"}
}

func clusterWidgets() schema.Resource {
	r := widgets()
	r.Cluster = true
	return r
}

const widgetsPath = "/apis/example.org/v1/namespaces/ns/widgets/"

// newAPIServer serves widgets, pods and services, without lists that are streamed.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{Server: server.New(t)}
	s.NoWatchList = true
	for _, r := range []schema.Resource{widgets(), schema.Pods(), schema.Services()} {
		s.serve(r, true)
	}
	s.Before = func(q server.Request) (no *metav1.Status) {
		s.Locked(func() {
			code := 0
			if s.fail != nil {
				code = s.fail(q)
			}
			if code > 0 {
				no = server.Refusal(code, "answered by the test")
			} else if q.Resource != "" && q.Name == "" {
				s.requests = append(s.requests, q)
			}
		})
		return no
	}
	return s
}

// serve makes the server serve a resource. The caller holds the lock.
func (s *apiServer) serve(r schema.Resource, status bool) {
	s.Serve(server.ResourceOf(r, status))
}

// source returns the source of a cache that reads from this server, and the typed clients.
func (s *apiServer) source(t *testing.T, namespace string) (Source, *lean.Clients) {
	t.Helper()
	config := s.Config()
	untyped, err1 := lean.NewUntyped(config)
	typed, err2 := lean.NewClients(config, nil)
	found, err3 := NewDiscovery(config)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	return Source{Client: untyped, Discovery: found, Namespace: namespace,
		Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()}, typed
}

// put stores an object at a path under a new version.
func (s *apiServer) put(path string, o map[string]any) { s.Locked(func() { s.Store(path, o) }) }

// asked returns the lists or the watches of a resource so far, except those that read the position of the store.
func (s *apiServer) asked(plural string, watches bool) (found []server.Request) {
	s.Locked(func() {
		for _, r := range s.requests {
			query := r.URL.Query()
			if r.Resource == plural && r.Watch == watches && !query.Has("fieldSelector") {
				found = append(found, r)
			}
		}
	})
	return found
}

// positions returns the paths at which the position of the store was read.
func (s *apiServer) positions() (found []string) {
	s.Locked(func() {
		for _, r := range s.requests {
			if query := r.URL.Query(); query.Get("fieldSelector") != "" {
				found = append(found, r.URL.Path+" "+query.Get("fieldSelector")+query.Get("labelSelector"))
			}
		}
	})
	return found
}

// ownedBy returns an object that an owner controls.
func ownedBy(owner *schema.Head, has map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"labels": has, "ownerReferences": []any{map[string]any{
		"apiVersion": owner.Resource.APIVersion(), "kind": owner.Resource.Kind, "name": owner.Meta.Name, "uid": string(owner.Meta.UID), "controller": true}}}}
}

func headOf(r schema.Resource, namespace, name string) *schema.Head {
	head := &schema.Head{Resource: r}
	head.Meta.Namespace, head.Meta.Name, head.Meta.UID = namespace, name, types.UID("uid-of-"+name)
	return head
}
