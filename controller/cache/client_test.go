package cache

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// watching reports whether a watch of widgets has begun after a list.
func watching(s *apiServer) bool {
	return slices.ContainsFunc(s.asked("widgets", true), func(r server.Request) bool { return !r.URL.Query().Has("sendInitialEvents") })
}

// TestScopeOfRequests: a namespace applies to namespaced resources only. The position of the store is read in one namespace, where the
// requested name is one key of etcd, whatever the cluster holds.
func TestScopeOfRequests(t *testing.T) {
	for name, c := range map[string]struct {
		resource                  schema.Resource
		namespace, want, position string
	}{
		"one namespace":  {widgets(), "ns", "/apis/example.org/v1/namespaces/ns/widgets", "/apis/example.org/v1/namespaces/ns/widgets"},
		"all namespaces": {widgets(), "", "/apis/example.org/v1/widgets", "/apis/example.org/v1/namespaces/default/widgets"},
		"cluster-scoped": {clusterWidgets(), "", "/apis/example.org/v1/widgets", "/apis/example.org/v1/widgets"},
		"cluster-scoped, for an operator of some": {clusterWidgets(), "ns", "/apis/example.org/v1/widgets", "/apis/example.org/v1/widgets"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.serve(c.resource, true)
			background(t, newTestDependents(t, s, c.namespace, &watch.Owned{Resource: c.resource}, nil).Serve)
			eventually(t, "a watch", func() bool { return watching(s) })
			eventually(t, "the position of the store", func() bool { return slices.Contains(s.positions(), c.position+" metadata.name=stoic") })
			for _, r := range append(s.asked("widgets", false), s.asked("widgets", true)...) {
				if r.URL.Path != c.want {
					t.Errorf("asked %s, want %s", r.URL.Path, c.want)
				}
			}
		})
	}
}
