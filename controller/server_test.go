package controller

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
	"stoic/training"
)

// apiServer is the model of the API server, and the requests that it received. Tests make it fail.
type apiServer struct {
	*server.Server
	seen  []string // requests but for watches, as "POST pods"
	lists []string // what was listed, and from when, as "pods 0"

	refuse     func(verb, resource, name string) *refusing // nil: let it through; once a controller runs it is set under the lock
	prune      func(status map[string]any)                 // what the schema of jobs drops
	strip      bool                                        // a webhook takes the ledgers of jobs away
	held       map[string]bool                             // resources whose watches are silent
	afterwards func(verb, resource, name string)           // called without the lock
}

type refusing struct {
	code    int
	reason  metav1.StatusReason
	message string
}

const jobsPath = "/apis/kubeflow.org/v1/namespaces/ns/tfjobs/"

func tfjobs() apimodel.Resource {
	return apimodel.Resource{Group: "kubeflow.org", Version: "v1", Plural: "tfjobs", Kind: "TFJob", Namespaced: true, Status: true}
}

func newAPIServer(t testing.TB) *apiServer {
	t.Helper()
	s := &apiServer{Server: server.New(t, tfjobs(),
		apimodel.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true, Status: true},
		apimodel.Resource{Version: "v1", Plural: "services", Kind: "Service", Namespaced: true, Status: true},
		apimodel.Resource{Version: "v1", Plural: "events", Kind: "Event", Namespaced: true},
		apimodel.Resource{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Namespaced: true})}
	s.held, s.NoWatchList, s.Before = s.Held, true, s.before
	s.After = func(q server.Request) {
		if s.afterwards != nil {
			s.afterwards(q.Method, q.Resource, q.Name)
		}
	}
	s.Admit(func(plural string, o map[string]any) {
		status, _ := o["status"].(map[string]any)
		annotations, _ := apimodel.Get(o, "metadata", "annotations").(map[string]any)
		switch {
		case plural == "tfjobs" && s.prune != nil && status != nil:
			s.prune(status)
		case plural == "tfjobs" && s.strip:
			delete(annotations, training.AnnotationLedger)
		}
	})
	return s
}

// before notes a request and refuses it if the test says so.
func (s *apiServer) before(q server.Request) *metav1.Status {
	if q.Watch || q.Resource == "" {
		return nil
	}
	var refuse func(verb, resource, name string) *refusing
	s.locked(func() {
		s.seen = append(s.seen, strings.TrimSpace(q.Method+" "+q.Resource+" "+q.Name))
		if query := q.URL.Query(); q.Method == http.MethodGet && q.Name == "" && !query.Has("fieldSelector") {
			s.lists = append(s.lists, q.Resource+" "+query.Get("resourceVersion"))
		}
		refuse = s.refuse
	})
	if refuse != nil {
		if no := refuse(q.Method, q.Resource, q.Name); no != nil {
			status := server.Refusal(no.code, no.message)
			status.Reason = no.reason
			return status
		}
	}
	return nil
}

func (s *apiServer) locked(f func()) { s.Locked(f) }

// store puts an object under a path. The caller holds the lock, as for drop.
func (s *apiServer) store(path string, o map[string]any) map[string]any { return s.Store(path, o) }

func (s *apiServer) drop(path string) { s.Drop(path) }

// count returns the number of requests that begin with a text.
func (s *apiServer) count(prefix string) (n int) {
	s.locked(func() {
		for _, r := range s.seen {
			if strings.HasPrefix(r, prefix) {
				n++
			}
		}
	})
	return n
}

// names returns the names of the stored objects of a resource.
func (s *apiServer) names(resource string) (names []string) {
	s.locked(func() {
		for _, o := range s.Objects(resource) {
			names = append(names, apimodel.Get(o, "metadata", "name").(string))
		}
	})
	slices.Sort(names)
	return names
}
