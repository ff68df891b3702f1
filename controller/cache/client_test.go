package cache

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/consistency"
	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
)

// TestStoreHoldsWhatWasCutDown: after a list, after a list that the API server streams, and after a watch. Each requests only what the
// selector selects, and lists in pages.
func TestStoreHoldsWhatWasCutDown(t *testing.T) {
	const listed = 2*pageSize + 1
	owner := headOf(widgets(), "ns", "a")
	for _, streams := range []bool{false, true} {
		for name, o := range map[string]*watch.Owned{
			"widgets": {Resource: widgets(), Selector: "by=me", Slim: func(u *unstructured.Unstructured) any { return u.GetName() }},
			"pods":    {Resource: schema.Pods(), Selector: "by=me", SlimTyped: slimName},
		} {
			t.Run(fmt.Sprintf("%s, streamed: %v", name, streams), func(t *testing.T) {
				s := newAPIServer(t)
				s.NoWatchList = !streams
				path := map[string]string{"widgets": widgetsPath, "pods": podsPath}[name]
				for i := range listed {
					s.put(fmt.Sprintf("%sx-%03d", path, i), ownedBy(owner, map[string]any{"by": "me"}))
				}
				s.put(path+"not-selected", ownedBy(owner, map[string]any{"by": "you"}))
				d := newTestDependents(t, s, "ns", o, nil)
				background(t, d.Serve)
				eventually(t, "the list", func() bool { return len(d.Of(owner).Items) == listed })
				s.put(path+"y", ownedBy(owner, map[string]any{"by": "me"}))
				s.put(path+"not-selected", ownedBy(owner, map[string]any{"by": "them"}))
				s.put(path+"x-000", ownedBy(owner, map[string]any{"by": "me"}))
				version := fmt.Sprint(s.Version())
				eventually(t, "the watch", func() bool { return consistency.Reached(d.Version(), version) && len(d.Of(owner).Items) == listed+1 })

				for _, obj := range (*d.informer.Load()).GetStore().List() {
					if c, ok := obj.(*child); !ok || c.object != c.Name || c.owner().UID != owner.Meta.UID {
						t.Fatalf("the store holds %+v", obj)
					}
				}
				lists, watches := s.asked(name, false), s.asked(name, true)
				if streams != (len(lists) == 0) || len(watches) == 0 {
					t.Errorf("%d lists, %d watches", len(lists), len(watches))
				}
				for i, r := range append(lists, watches...) {
					query := r.URL.Query()
					if query.Get("labelSelector") != "by=me" || r.URL.Path+"/" != path {
						t.Errorf("asked %s", r.URL)
					}
					if i < len(lists) && (query.Get("limit") != fmt.Sprint(pageSize) || query.Get("resourceVersion") != "") {
						t.Errorf("listed %s", r.URL)
					}
				}
				if !streams && len(lists) != 3 {
					t.Errorf("%d pages, want 3", len(lists))
				}
			})
		}
	}
}

// TestUntypedStoreIsRewound: an etcd is restored to the past while watches are interrupted. A watch that resumes from a version still to
// come is ended, all is listed again, and what happens then is seen, although its versions were known before.
func TestUntypedStoreIsRewound(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{})
	saved, version := s.Clone(), s.Version()
	source, _ := s.source(t, "")
	report := func(error) {}
	r := &untypedReader{&Dependents{Owned: &watch.Owned{Resource: widgets()}}}
	informer := newInformer(source.Client, widgets(), "", "", report, r.slim, cache.Indexers{})
	_ = informer.SetWatchErrorHandlerWithContext(reportStart(report))
	background(t, func(ctx context.Context) { informer.RunWithContext(ctx) })
	has := func(key string) bool { _, found, _ := informer.GetStore().GetByKey(key); return found }
	eventually(t, "the watch", func() bool { return has("ns/a") && watching(s) })
	s.locked(func() {
		for range 1000 {
			s.Store(podsPath+"noise", map[string]any{})
		}
	})
	s.put(widgetsPath+"lost", map[string]any{}) // as an event: after a watch that had none a reflector lists again anyway
	eventually(t, "the future to be known", func() bool { return has("ns/lost") })
	before := 0
	s.locked(func() {
		s.Model = saved
		s.Cut()
		before = len(s.requests)
	})
	s.put(widgetsPath+"b", map[string]any{})
	eventually(t, "another list", func() bool { return has("ns/b") && has("ns/a") && !has("ns/lost") })
	s.put(widgetsPath+"c", map[string]any{})
	eventually(t, "the watch", func() bool { return has("ns/c") })
	eventually(t, "the end of every watch that resumes from a version still to come", func() (ended bool) {
		s.locked(func() {
			ended = !slices.ContainsFunc(s.requests[before:], func(r server.Request) bool {
				query := r.URL.Query()
				return query.Has("watch") && !query.Has("sendInitialEvents") && query.Get("resourceVersion") == fmt.Sprint(version+1001) && !isOver(r)
			})
		})
		return ended
	})
}

// isOver reports whether the client of a request no longer waits.
func isOver(r server.Request) bool {
	select {
	case <-r.Gone:
		return true
	default:
		return false
	}
}

// watching reports whether a watch of widgets has begun after a list.
func watching(s *apiServer) bool {
	return slices.ContainsFunc(s.asked("widgets", true), func(r server.Request) bool { return !r.URL.Query().Has("sendInitialEvents") })
}

// TestScopeOfRequests: a namespace applies to namespaced resources alone, and every resource keeps the decorated client's own.
func TestScopeOfRequests(t *testing.T) {
	for name, c := range map[string]struct {
		resource        schema.Resource
		namespace, want string
	}{
		"one namespace":  {widgets(), "ns", "/apis/example.org/v1/namespaces/ns/widgets"},
		"all namespaces": {widgets(), "", "/apis/example.org/v1/widgets"},
		"cluster-scoped": {clusterWidgets(), "", "/apis/example.org/v1/widgets"},
		"cluster-scoped, for an operator of some": {clusterWidgets(), "ns", "/apis/example.org/v1/widgets"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.serve(c.resource, true)
			background(t, newTestDependents(t, s, c.namespace, &watch.Owned{Resource: c.resource}, nil).Serve)
			eventually(t, "a watch", func() bool { return watching(s) })
			for _, r := range append(s.asked("widgets", false), s.asked("widgets", true)...) {
				if r.URL.Path != c.want {
					t.Errorf("asked %s, want %s", r.URL.Path, c.want)
				}
			}
		})
	}
}

// TestStreamedListsAreAskedForWhereTheClientHasThem: the decorated client says whether its watches can begin with the existing objects.
func TestStreamedListsAreAskedForWhereTheClientHasThem(t *testing.T) {
	s := newAPIServer(t)
	source, _ := s.source(t, "")
	for name, c := range map[string]struct {
		client dynamic.Interface
		want   bool
	}{"a real client": {source.Client, false}, "one that cannot": {unable{source.Client}, true}} {
		if got := (&listWatchClient{Interface: c.client}).IsWatchListSemanticsUnSupported(); got != c.want {
			t.Errorf("%s: unsupported: %v, want %v", name, got, c.want)
		}
	}
}

type unable struct{ dynamic.Interface }

func (unable) IsWatchListSemanticsUnSupported() bool { return true }

// TestErrorInAWatchIsReported: the reflector of client-go does not report it.
func TestErrorInAWatchIsReported(t *testing.T) {
	s := newAPIServer(t)
	source, _ := s.source(t, "")
	reported := make(chan error, 10)
	client := &listWatchClient{source.Client, widgets(), func(err error) { reported <- err }, nil}
	s.put(widgetsPath+"a", map[string]any{})
	w, err := client.Resource(gvr(widgets())).Namespace("ns").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := <-reported; err != nil {
		t.Errorf("the watch, which goes on from a version, is reported with %v", err)
	}
	if event := <-w.ResultChan(); event.Object.(*unstructured.Unstructured).GetName() != "a" {
		t.Errorf("%+v", event)
	}
	s.locked(func() { // faster than the watch is told
		s.Store(widgetsPath+"b", map[string]any{})
		s.Compact(s.Version())
	})
	if err := <-reported; err == nil {
		t.Error("no error")
	}
}
