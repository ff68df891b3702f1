package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

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
				server.Background(t, d.Serve)
				server.Await(t, "the list", func() bool { return len(d.Of(owner).Items) == listed })
				s.put(path+"y", ownedBy(owner, map[string]any{"by": "me"}))
				s.put(path+"not-selected", ownedBy(owner, map[string]any{"by": "them"}))
				s.put(path+"x-000", ownedBy(owner, map[string]any{"by": "me"}))
				version := fmt.Sprint(s.Version())
				server.Await(t, "the watch", func() bool { return consistency.Reached(d.Version(), version) && len(d.Of(owner).Items) == listed+1 })

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
			server.Background(t, newTestDependents(t, s, c.namespace, &watch.Owned{Resource: c.resource}, nil).Serve)
			server.Await(t, "a watch", func() bool { return watching(s) })
			server.Await(t, "the position of the store", func() bool { return slices.Contains(s.positions(), c.position+" metadata.name=stoic") })
			for _, r := range append(s.asked("widgets", false), s.asked("widgets", true)...) {
				if r.URL.Path != c.want {
					t.Errorf("asked %s, want %s", r.URL.Path, c.want)
				}
			}
		})
	}
}

// pagedResource is a dynamic client of one resource that answers prepared pages.
type pagedResource struct {
	dynamic.NamespaceableResourceInterface
	pages []*unstructured.UnstructuredList
	asked []metav1.ListOptions
}

func (p *pagedResource) List(_ context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	p.asked = append(p.asked, o)
	return p.pages[len(p.asked)-1], nil
}

func pagesOf(names ...string) *pagedResource {
	p := &pagedResource{}
	for i, name := range names {
		page := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{
			"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "u-" + name, "resourceVersion": fmt.Sprint(i)}, "spec": map[string]any{"large": "x"}}}}}
		page.SetResourceVersion("9")
		if i < len(names)-1 {
			page.SetContinue("more")
		}
		p.pages = append(p.pages, page)
	}
	return p
}

// TestListOfCarriers: the untyped client also lists page by page. Each object is reduced before the next page is requested, and leaves
// the list and the transform as it was reduced.
func TestListOfCarriers(t *testing.T) {
	p := pagesOf("a", "b", "c")
	var cut []*child
	slim := func(obj any) (any, error) {
		if len(cut) != len(p.asked)-1 {
			t.Errorf("%d objects are cut down after %d pages", len(cut), len(p.asked))
		}
		cut = append(cut, slimUntyped(obj.(*unstructured.Unstructured), ""))
		return cut[len(cut)-1], nil
	}
	r := &listWatchResource{reads: p, client: &listWatchClient{report: func(err error) { t.Error(err) }, slim: slim}}
	found, err := r.List(t.Context(), metav1.ListOptions{ResourceVersion: "0", LabelSelector: "a=b"})
	if err != nil || meta.LenList(found) != 3 || found.GetResourceVersion() != "9" || found.GetContinue() != "" {
		t.Fatalf("%+v: %v", found, err)
	}
	items, err := meta.ExtractListWithAlloc(found)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		m, err := meta.Accessor(item)
		if err != nil || m.GetName() != cut[i].Name || m.GetNamespace() != "ns" || m.GetUID() != cut[i].UID || m.GetResourceVersion() != cut[i].ResourceVersion {
			t.Errorf("object %d has no identity on its way: %+v, %v", i, item, err)
		}
		if got, err := unpacked(slim)(item); err != nil || got != any(cut[i]) {
			t.Errorf("object %d comes out as %+v, %v", i, got, err)
		}
	}
	for _, o := range p.asked {
		if o.ResourceVersion != "" || o.Limit != pageSize || o.LabelSelector != "a=b" {
			t.Errorf("asked %+v: of the past, for all at once, or for others", o)
		}
	}
}

// TestListOfCarriersFails: a transform that fails is an error of the list, and does not leave a list with a gap.
func TestListOfCarriersFails(t *testing.T) {
	for name, bad := range map[string]func(any) (any, error){
		"refuses":            func(any) (any, error) { return nil, errors.New("no") },
		"loses the metadata": func(any) (any, error) { return 7, nil },
	} {
		r := &listWatchResource{reads: pagesOf("a"), client: &listWatchClient{report: func(error) {}, slim: bad}}
		if found, err := r.List(t.Context(), metav1.ListOptions{}); found != nil || err == nil {
			t.Errorf("a transform that %s: %v, %v", name, found, err)
		}
	}
}
