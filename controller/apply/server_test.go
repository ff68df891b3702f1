package apply

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/cache"
	"stoic/controller/consistency"
	"stoic/controller/events"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

// apiServer is the model of the API server, and the requests that it received.
type apiServer struct {
	*server.Server
	seen []string // writes and reads, as "POST pods a"
	// fail answers a request of that name with a Status, if it returns one.
	fail func(request string) *metav1.Status
	// keep changes what is not an event before it is stored, as an admission webhook or a schema does.
	keep func(map[string]any)
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{Server: server.New(t)}
	for _, r := range []schema.Resource{widgets(), gadgets(), schema.Pods(), schema.Services(), {Version: "v1", Plural: "secrets", Kind: "Secret"},
		{Version: "v1", Plural: "events", Kind: "Event"}} {
		s.serve(r)
	}
	s.Admit(func(plural string, o map[string]any) {
		if s.keep != nil && plural != "events" {
			s.keep(o)
		}
	})
	s.Before = func(q server.Request) (no *metav1.Status) {
		s.Locked(func() {
			request := nameOf(q)
			if s.seen = append(s.seen, request); s.fail != nil {
				no = s.fail(request)
			}
		})
		return no
	}
	return s
}

// failing makes the server answer requests with what fail returns; nil is no failure. Events are sent concurrently with a test, so it
// takes the lock.
func (s *apiServer) failing(fail func(request string) *metav1.Status) {
	s.Locked(func() { s.fail = fail })
}

// refusing makes the server answer requests whose names match a pattern, as "POST pods *".
func (s *apiServer) refusing(pattern string, with *metav1.Status) {
	s.failing(func(request string) *metav1.Status {
		if is, _ := filepath.Match(pattern, request); is {
			return with
		}
		return nil
	})
}

// keeping changes what the server keeps of what it receives.
func (s *apiServer) keeping(keep func(map[string]any)) { s.Locked(func() { s.keep = keep }) }

// serve makes the server serve a resource, with a status subresource.
func (s *apiServer) serve(r schema.Resource) {
	s.Serve(server.ResourceOf(r, r.Plural != "events" && r.Plural != "secrets"))
}

// nameOf returns the name of a request, as "PATCH pods a annotations".
func nameOf(q server.Request) string {
	resource, status := strings.CutSuffix(q.Resource, "/status")
	if q.Method == http.MethodPost {
		var o struct{ Metadata metav1.ObjectMeta }
		_ = json.Unmarshal(q.Body, &o)
		q.Name = o.Metadata.Name
	}
	request := q.Method + " " + resource + " " + q.Name
	if status {
		request += " status"
	}
	for _, part := range []string{"finalizers", "annotations"} {
		if q.Method == http.MethodPatch && strings.Contains(string(q.Body), `"`+part+`":`) {
			request += " " + part
		}
	}
	return request
}

func widgets() schema.Resource {
	return schema.Resource{Group: "example.org", Version: "v1", Plural: "widgets", Kind: "Widget"}
}

// gadgets are an optional resource of which children of ours get their labels back.
func gadgets() schema.Resource {
	return schema.Resource{Group: "example.org", Version: "v1", Plural: "gadgets", Kind: "Gadget"}
}

// newTestApplier applies plans for widgets, which own pods, services and gadgets.
func newTestApplier(t *testing.T, s *apiServer, change func(*Options)) *Applier {
	t.Helper()
	config := s.Config()
	api, err1 := NewAPI(config)
	metrics := serve.NewMetrics(prometheus.NewRegistry(), "test")
	emitter, err2 := events.NewEmitter(config, events.Options{Reporter: "test", Identity: "test-0", QPS: -1, Log: zap.NewNop(), Metrics: metrics, Now: time.Now})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	source := cache.Source{Metrics: metrics, Log: zap.NewNop()}
	reasons := func(name string) watch.Reasons {
		return watch.Reasons{Created: name + "Created", CreateFailed: name + "CreateFailed", UpdateFailed: name + "UpdateFailed",
			Deleted: name + "Deleted", DeleteFailed: name + "DeleteFailed"}
	}
	labels := func(owner *schema.Head) map[string]string {
		return map[string]string{"by": "me", "widget": owner.Meta.Name}
	}
	o := Options{Resource: widgets(), Noun: "widget", Reasons: watch.Reasons{Deleted: "WidgetDeleted", DeleteFailed: "WidgetDeleteFailed"},
		FailedReason: "WidgetFailed", API: api, Objects: cache.NewObjects(source, widgets(), nil, cache.Handlers{}),
		Store: consistency.NewStore(time.Now), Events: emitter, Limiter: NewLimiter(1, time.Now), Failures: func(string) int { return 0 },
		Now: time.Now, Log: zap.NewNop()}
	for _, owned := range []*watch.Owned{
		{Resource: schema.Pods(), Selector: "by=me", Labels: labels, Reasons: reasons("Pods")},
		{Resource: schema.Services(), Selector: "by=me", Labels: labels, Reasons: reasons("Services")},
		{Resource: gadgets(), Selector: "by=me", Labels: labels, Reasons: reasons("Gadgets"), Optional: true, Relabel: true},
	} {
		o.Dependents = append(o.Dependents, cache.NewDependents(source, nil, owned, nil, nil))
	}
	if change != nil {
		change(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { emitter.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return New(o)
}

const (
	widgetsPath = "/apis/example.org/v1/namespaces/ns/widgets/"
	gadgetsPath = "/apis/example.org/v1/namespaces/ns/gadgets/"
	podsPath    = "/api/v1/namespaces/ns/pods/"
)

// put stores an object and returns its metadata.
func (s *apiServer) put(path string, meta map[string]any) (stored metav1.ObjectMeta) {
	s.Locked(func() {
		text, _ := json.Marshal(s.Store(path, map[string]any{"metadata": meta})["metadata"])
		_ = json.Unmarshal(text, &stored)
	})
	return stored
}

// bodyOf returns the body of an object that is to be created.
func bodyOf(r schema.Resource, name string) json.RawMessage {
	return schema.JSON(map[string]any{"apiVersion": r.APIVersion(), "kind": r.Kind, "metadata": map[string]any{"name": name}})
}

// object returns the object at a path, or nil. What is stored is not changed.
func (s *apiServer) object(path string) (o map[string]any) {
	s.Locked(func() { o = s.At(path) })
	return o
}

// head returns the head of a stored widget, as the cache would have it.
func (s *apiServer) head(t *testing.T, name string) *schema.Head {
	t.Helper()
	head := &schema.Head{Resource: widgets()}
	s.Locked(func() {
		text, err := json.Marshal(s.At(widgetsPath + name)["metadata"])
		if err == nil {
			err = json.Unmarshal(text, &head.Meta)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return head
}

// requests returns the requests since it was last called, except those that post events.
func (s *apiServer) requests() (seen []string) {
	s.Locked(func() {
		for _, request := range s.seen {
			if !strings.Contains(request, " events ") {
				seen = append(seen, request)
			}
		}
		s.seen = nil
	})
	return seen
}

// reported waits for an event of a reason, and returns its message.
func (s *apiServer) reported(t *testing.T, reason string) (message string) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); message == "" && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		s.Locked(func() {
			for _, o := range s.Objects("events") {
				if o["reason"] == reason {
					message, _ = o["message"].(string)
				}
			}
		})
	}
	if message == "" {
		t.Fatalf("waited in vain for an event %s", reason)
	}
	return message
}

func statusOf(code int) *metav1.Status { return server.Refusal(code, "answered by the test") }

// terminatingStatus is what admission answers to a creation in a namespace that is being deleted.
func terminatingStatus(namespace string) metav1.Status {
	status := statusOf(http.StatusForbidden)
	status.Message = "namespace " + namespace + " is being terminated"
	status.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}}
	return *status
}
