package cache

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/convert"
	"stoic/internal/lean"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
)

const podsPath = "/api/v1/namespaces/ns/pods/"

// slimName keeps the name.
func slimName(o *lean.Object) any { return o.Name }

// newTestDependents makes a cache that wakes nothing; changed may be nil.
func newTestDependents(t *testing.T, s *apiServer, namespace string, o *watch.Owned, changed func()) *Dependents {
	t.Helper()
	source, typed := s.source(t, namespace)
	if changed == nil {
		changed = func() {}
	}
	return NewDependents(source, typed, o, func(Owner) {}, changed)
}

func names(children []schema.Child) []string {
	found := []string{}
	for _, c := range children {
		found = append(found, c.Name)
	}
	slices.Sort(found)
	return found
}

// TestReadOfALongName: an object whose name fits no label has no children, and a live read for it must not end in an error.
func TestReadOfALongName(t *testing.T) {
	s := newAPIServer(t)
	s.fail = func(server.Request) int { return http.StatusBadRequest }
	byName := func(owner *schema.Head) map[string]string { return map[string]string{"job": owner.Meta.Name} }
	for _, o := range []*watch.Owned{{Resource: widgets(), Labels: byName}, {Resource: schema.Pods(), SlimTyped: slimName, Labels: byName}} {
		d := newTestDependents(t, s, "", o, nil)
		if found, _, err := d.Read(t.Context(), headOf(widgets(), "ns", strings.Repeat("n", 64))); err != nil || len(found.Items) > 0 || found.Unknown || found.Resource != o.Resource {
			t.Errorf("%+v %v", found, err)
		}
		if _, _, err := d.Read(t.Context(), headOf(widgets(), "ns", "a")); err == nil {
			t.Error("a list that fails is taken for one of nothing")
		}
	}
}

// TestChildrenAreInTheNamespaceOfTheirOwner: an owner reference holds within a namespace, or to a cluster-scoped owner. A pod elsewhere
// that names an object as its owner is none of its children: it could end, or begin, the job of another tenant.
func TestChildrenAreInTheNamespaceOfTheirOwner(t *testing.T) {
	namespaced, cluster := headOf(widgets(), "ns", "a"), headOf(clusterWidgets(), "", "c")
	for name, o := range map[string]*watch.Owned{"pods": {Resource: schema.Pods(), SlimTyped: slimName}, "widgets": {Resource: widgets()},
		"widgets, whose owner may be in another namespace": {Resource: widgets(), OwnerAnnotation: "test/owner"}} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			here, elsewhere := podsPath, "/api/v1/namespaces/elsewhere/pods/"
			if o.SlimTyped == nil {
				here, elsewhere = widgetsPath, "/apis/example.org/v1/namespaces/elsewhere/widgets/"
			}
			for _, owner := range []*schema.Head{namespaced, cluster} {
				s.put(here+owner.Meta.Name+"-here", ownedBy(owner, nil))
				s.put(elsewhere+owner.Meta.Name+"-elsewhere", ownedBy(owner, nil))
			}
			s.put(here+"unowned", map[string]any{})
			d := newTestDependents(t, s, "", o, nil)
			server.Background(t, d.Serve)
			server.Await(t, "the children", d.Known)
			for _, c := range []struct {
				owner *schema.Head
				want  []string
			}{
				{namespaced, []string{"a-here"}},
				{cluster, []string{"c-elsewhere", "c-here"}},
				{headOf(widgets(), "ns", "none"), []string{}},
			} {
				if got := d.Of(c.owner); got.Unknown || got.Resource != o.Resource || !slices.Equal(names(got.Items), c.want) {
					t.Errorf("cached of %s: %+v, want %v", c.owner.Meta.Name, got, c.want)
				}
				got, newest, err := d.Read(t.Context(), c.owner)
				if err != nil || got.Unknown || got.Resource != o.Resource || !slices.Equal(names(got.Items), c.want) || (newest == "") != (len(c.want) == 0) {
					t.Errorf("read of %s: %+v at %q, %v, want %v", c.owner.Meta.Name, got, newest, err, c.want)
				}
			}
		})
	}
}

// TestReadAsksForTheOwnersChildren: by the labels of one owner, in its namespace, if there are such labels; the newest version is that of
// the children.
func TestReadAsksForTheOwnersChildren(t *testing.T) {
	s := newAPIServer(t)
	owner := headOf(widgets(), "ns", "a")
	s.put(podsPath+"old", ownedBy(owner, map[string]any{"by": "me", "job": "a"}))
	s.put(podsPath+"new", ownedBy(owner, map[string]any{"by": "me", "job": "a"}))
	s.put(podsPath+"lost", ownedBy(owner, map[string]any{"job": "a"}))
	s.put(podsPath+"another", ownedBy(headOf(widgets(), "ns", "b"), map[string]any{"by": "me", "job": "a"}))
	d := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Pods(), SlimTyped: slimName, Selector: "by=me",
		Labels: func(owner *schema.Head) map[string]string { return map[string]string{"job": owner.Meta.Name} }}, nil)
	found, newest, err := d.Read(t.Context(), owner)
	if err != nil || !slices.Equal(names(found.Items), []string{"new", "old"}) || newest != apimodel.Get(s.At(podsPath+"new"), "metadata", "resourceVersion") {
		t.Errorf("%+v at %s: %v", found, newest, err)
	}
	asked := s.asked("pods", false)
	if len(asked) != 1 || asked[0].URL.Path+"/" != podsPath || asked[0].URL.Query().Get("labelSelector") != "by=me,job=a" {
		t.Errorf("asked %s", asked[0].URL)
	}
	for _, c := range found.Items {
		if c.Object != c.Name || c.UID == "" || c.ResourceVersion == "" {
			t.Errorf("read as %+v", c)
		}
	}
}

// TestUnknownChildren: what is known of children, and the reason if nothing is, while the resource is absent, refused, served, and gone.
// Reconciles that did not see them are woken when that changes.
func TestUnknownChildren(t *testing.T) {
	s := newAPIServer(t)
	s.Unserve("widgets")
	forbidden := true
	s.fail = func(r server.Request) int {
		if forbidden && strings.HasSuffix(r.URL.Path, "/widgets") {
			return http.StatusForbidden
		}
		return 0
	}
	var mu sync.Mutex
	changes := 0
	count := func() int { mu.Lock(); defer mu.Unlock(); return changes }
	owner := headOf(widgets(), "ns", "a")
	d := newTestDependents(t, s, "", &watch.Owned{Resource: widgets(), Optional: true}, func() { mu.Lock(); changes++; mu.Unlock() })
	if got := d.Of(owner); !got.Unknown || got.Why != "" || !d.Ready() || d.Known() || d.Version() != "" {
		t.Errorf("before anything is asked: %+v, ready: %v", got, d.Ready())
	}
	d.pause = func(ctx context.Context, _ time.Duration) { pause(ctx, 5*time.Millisecond) }
	server.Background(t, d.Serve)
	changed := func(what, why string, unknown bool) {
		t.Helper()
		server.Await(t, what, func() bool { return count() > 0 })
		got := d.Of(owner)
		if got.Unknown != unknown || !strings.HasPrefix(got.Why, why) || unknown != (got.Why != "") {
			t.Errorf("%s: %+v", what, got)
		}
		if now, _, err := d.Read(t.Context(), owner); err != nil || now.Unknown != unknown || now.Why != got.Why {
			t.Errorf("read while there is %s: %+v, %v", what, now, err)
		}
		mu.Lock()
		changes = 0
		mu.Unlock()
	}
	changed("absence", "the API server does not serve Widget of example.org/v1", true)
	s.Locked(func() { s.serve(widgets(), false) })
	changed("a refusal", "Widget of example.org/v1 cannot be watched: ", true)
	s.Locked(func() { forbidden = false })
	changed("a list", "", false)
	if n := count(); n != 0 || d.missed.Load() {
		t.Errorf("reconciles that see the children are to be woken: %d", n)
	}
	s.Locked(func() { s.Unserve("widgets") })
	server.Await(t, "the end of the watch", func() bool { return d.Of(owner).Unknown })
	changed("absence again", "the API server does not serve Widget of example.org/v1", true)
}

// TestReadOfWhatHasJustGone: an optional resource that is removed between the look at its cache and the list is unknown.
func TestReadOfWhatHasJustGone(t *testing.T) {
	s := newAPIServer(t)
	d := newTestDependents(t, s, "", &watch.Owned{Resource: widgets(), Optional: true}, nil)
	server.Background(t, d.Serve)
	server.Await(t, "the list", d.Known)
	s.Locked(func() { s.fail = func(server.Request) int { return http.StatusNotFound } })
	found, newest, err := d.Read(t.Context(), headOf(widgets(), "ns", "a"))
	if err != nil || !found.Unknown || newest != "" || !d.missed.Load() {
		t.Errorf("%+v at %q: %v; missed: %v", found, newest, err, d.missed.Load())
	}
}

// TestLost: which labels a child must get back to be selected.
func TestLost(t *testing.T) {
	byName := func(owner *schema.Head) map[string]string {
		return map[string]string{"by": "me", "job": owner.Meta.Name}
	}
	onlyJob := func(owner *schema.Head) map[string]string { return map[string]string{"job": owner.Meta.Name} }
	for name, c := range map[string]struct {
		selector string
		labels   func(*schema.Head) map[string]string
		has      map[string]string
		want     string
	}{
		"selected":                              {"by=me", byName, map[string]string{"by": "me"}, ""},
		"everything is selected":                {"", byName, nil, ""},
		"selected without the owner's label":    {"by=me", byName, map[string]string{"by": "me", "job": "other"}, ""},
		"no label":                              {"by=me", byName, nil, "by=me"},
		"another value":                         {"by=me", byName, map[string]string{"by": "you"}, "by=me"},
		"one of many values":                    {"by in (me,you)", byName, map[string]string{"by": "them"}, "by=me"},
		"two labels":                            {"by=me,job=a", byName, map[string]string{"job": "a"}, "by=me"},
		"two labels, none is there":             {"by=me,job=a", byName, nil, "by=me,job=a"},
		"no labels of an owner":                 {"by=me", nil, nil, "by=me"},
		"the owner's labels do not say it":      {"by=me", onlyJob, nil, "by=me"},
		"a label that must not be there":        {"!hidden", byName, map[string]string{"hidden": "yes"}, "!hidden"},
		"a selector that cannot be parsed":      {"by=(", byName, nil, ""},
		"a label that none of the owner's says": {"by=me,tier", byName, map[string]string{"by": "me"}, "by=me,tier"},
	} {
		d := &Dependents{Owned: &watch.Owned{Selector: c.selector, Labels: c.labels}}
		if got := d.Lost(headOf(widgets(), "ns", "a"), c.has); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// widget is a widget as TestSameDecidesWhatWakes keeps it.
type widget struct{ Phase, Note string }

// TestSameDecidesWhatWakes: what a decision depends on wakes the owner, and a report that changes nothing else does not.
func TestSameDecidesWhatWakes(t *testing.T) {
	slim := func(*unstructured.Unstructured) any { return nil }
	samePhase := func(a, b any) bool { return a.(widget).Phase == b.(widget).Phase }
	other := Owner{UID: "v", Kind: "Widget", APIVersion: "example.org/v1", Namespace: "ns", Name: "b"}
	owner := Owner{UID: "u", Kind: "Widget", APIVersion: "example.org/v1", Namespace: "ns", Name: "a"}
	for name, c := range map[string]struct {
		owned  watch.Owned
		change func(*child)
		wakes  []string
	}{
		"nothing but the version":                    {watch.Owned{Slim: slim}, func(*child) {}, nil},
		"what is kept":                               {watch.Owned{Slim: slim}, func(c *child) { c.object = widget{Note: "b"} }, []string{"a"}},
		"what is kept, of typed objects":             {watch.Owned{SlimTyped: slimName}, func(c *child) { c.object = widget{Note: "b"} }, []string{"a"}},
		"what is kept, and leads to the same":        {watch.Owned{Slim: slim, Same: samePhase}, func(c *child) { c.object = widget{Note: "b"} }, nil},
		"what is kept, and leads to something else":  {watch.Owned{Slim: slim, Same: samePhase}, func(c *child) { c.object = widget{Phase: "b"} }, []string{"a"}},
		"its end begins":                             {watch.Owned{Slim: slim, Same: samePhase}, func(c *child) { c.deleting = true }, []string{"a"}},
		"another of its name":                        {watch.Owned{Slim: slim, Same: samePhase}, func(c *child) { c.UID = "another" }, []string{"a"}},
		"its owner":                                  {watch.Owned{Slim: slim, Same: samePhase}, func(c *child) { c.owned = unique.Make(other) }, []string{"a", "b"}},
		"its owner lets go of it":                    {watch.Owned{Slim: slim, Same: samePhase}, func(c *child) { c.owned = unique.Handle[Owner]{} }, []string{"a"}},
		"the version, and metadata alone is kept":    {watch.Owned{}, func(*child) {}, []string{"a"}},
		"no version, and metadata alone is kept":     {watch.Owned{}, func(c *child) { c.ResourceVersion = "1" }, nil},
		"the version, and Same is not asked of that": {watch.Owned{Same: func(_, _ any) bool { return true }}, func(*child) {}, []string{"a"}},
	} {
		var woken []string
		d := &Dependents{availability: newTestAvailability("Widget"), Owned: &c.owned, wake: func(o Owner) { woken = append(woken, o.Name) }}
		before := &child{identity: identity{Name: "x", Namespace: "ns", UID: "x", ResourceVersion: "1"}, owned: unique.Make(owner), object: widget{}}
		after := *before
		after.ResourceVersion = "2"
		c.change(&after)
		d.handlers().OnUpdate(before, &after)
		if diff := cmp.Diff(c.wakes, woken); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWhatComesAndGoesWakes: so does what was deleted while the watch was down. An object without owner, or no child at all, wakes none.
func TestWhatComesAndGoesWakes(t *testing.T) {
	c := &child{identity: identity{Name: "x"}, owned: unique.Make(Owner{UID: "u", Name: "a"})}
	for name, test := range map[string]struct {
		event func(cache.ResourceEventHandler)
		wakes int
	}{
		"it comes":                           {func(h cache.ResourceEventHandler) { h.OnAdd(c, false) }, 1},
		"it goes":                            {func(h cache.ResourceEventHandler) { h.OnDelete(c) }, 1},
		"it has gone":                        {func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/x", Obj: c}) }, 1},
		"it has gone, and nothing was known": {func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/x"}) }, 0},
		"one without an owner":               {func(h cache.ResourceEventHandler) { h.OnAdd(&child{}, false) }, 0},
		"no child":                           {func(h cache.ResourceEventHandler) { h.OnAdd(7, false) }, 0},
		"a child that was none":              {func(h cache.ResourceEventHandler) { h.OnUpdate(7, c) }, 1},
		"a child that is none":               {func(h cache.ResourceEventHandler) { h.OnUpdate(c, 7) }, 1},
	} {
		woken := 0
		d := NewDependents(Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()}, nil, &watch.Owned{}, func(Owner) { woken++ }, nil)
		test.event(d.handlers())
		if woken != test.wakes {
			t.Errorf("%s: woken %d times, want %d", name, woken, test.wakes)
		}
	}
}

// TestSlimUntypedIsTotal: an object of any shape keeps its name, even one on which Slim panics, and what is no object at all becomes one
// without a name.
func TestSlimUntypedIsTotal(t *testing.T) {
	slim := func(u *unstructured.Unstructured) any { return u.Object["status"].(map[string]any)["phase"] != nil }
	r := &untypedReader{newTestDependents(t, newAPIServer(t), "", &watch.Owned{Resource: widgets(), Slim: slim}, nil)}
	values := rapid.OneOf(rapid.Just[any](nil), rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(),
		rapid.Just[any](map[string]any{"phase": []any{1}}), rapid.Just[any](map[string]any{"phase": "Running"}), rapid.Just[any]([]any{map[string]any{}}),
		rapid.Just[any]([]any{map[string]any{"controller": true, "uid": 7, "name": []any{}}}), rapid.Just[any]([]any{map[string]any{"controller": "true"}, nil}))
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "a", "labels": values.Draw(t, "labels"), "ownerReferences": values.Draw(t, "owners"), "uid": values.Draw(t, "uid"),
				"creationTimestamp": values.Draw(t, "created"), "deletionTimestamp": values.Draw(t, "deleted")},
			"spec": values.Draw(t, "spec"), "status": values.Draw(t, "status")}}
		obj, err := r.slim(u)
		c, ok := obj.(*child)
		_, slims := u.Object["status"].(map[string]any)
		if err != nil || !ok || c.Name != "a" || (c.object != nil) != slims {
			t.Fatalf("%+v, %v", obj, err)
		}
		if again, err := unpacked(r.slim)(obj); again != obj || err != nil {
			t.Fatalf("changed on its second way: %v, %v", again, err)
		}
		if _, err := indexByOwner(c); err != nil {
			t.Fatal(err)
		}
	})
	for _, odd := range []any{nil, 7, (*unstructured.Unstructured)(nil), &unstructured.Unstructured{}} {
		if obj, err := r.slim(odd); err != nil || obj == nil {
			t.Errorf("%v: %v, %v", odd, obj, err)
		}
		if found, err := indexByOwner(odd); err != nil || len(found) > 0 {
			t.Errorf("%v: %v, %v", odd, found, err)
		}
	}
}

// TestChild: what is kept of typed and of untyped objects is the same.
func TestChild(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := schema.Child{Namespace: "ns", Name: "x", UID: "u", ResourceVersion: "7", Created: created, Deleting: true, Object: "x"}
	owner := Owner{UID: "o", APIVersion: "example.org/v1", Kind: "Widget", Namespace: "ns", Name: "a"}
	d := &Dependents{Owned: &watch.Owned{OwnerAnnotation: "example.org/owner", SlimTyped: slimName, Slim: func(u *unstructured.Unstructured) any { return u.GetName() }}}
	untyped := d.untyped(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-02T03:04:06Z",
		"ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "n"},
			map[string]any{"apiVersion": "example.org/v1", "kind": "Widget", "name": "a", "uid": "o", "controller": true}}}}})
	typed := &lean.Object{}
	typed.Name, typed.Namespace, typed.UID, typed.ResourceVersion = "x", "ns", types.UID("u"), "7"
	typed.CreationTimestamp.Time = created
	typed.DeletionTimestamp = &typed.CreationTimestamp
	yes := true
	typed.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"},
		{APIVersion: "example.org/v1", Kind: "Widget", Name: "a", UID: "o", Controller: &yes}}
	for name, c := range map[string]*child{"untyped": untyped, "typed": d.typed(typed)} {
		if diff := cmp.Diff(want, c.seen()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(owner, c.owner()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if c := slimTyped(&lean.Object{}); c.owner() != (Owner{}) || c.object != nil || !c.created.IsZero() {
		t.Errorf("%+v", c)
	}
}

// TestChildrenOfChildren: what an owned object controls is seen as the child of a child, in the cache and in a live read, within the
// namespace, and it wakes the owner of that object.
func TestChildrenOfChildren(t *testing.T) {
	s := newAPIServer(t)
	s.serve(schema.Jobs(), true)
	owner, stranger := headOf(widgets(), "ns", "a"), headOf(widgets(), "ns", "b")
	job := headOf(schema.Jobs(), "ns", "a-launcher")
	s.put("/apis/batch/v1/namespaces/ns/jobs/a-launcher", withUID(ownedBy(owner, nil), job))
	s.put("/api/v1/namespaces/ns/pods/direct", ownedBy(owner, nil))
	s.put("/api/v1/namespaces/ns/pods/indirect", ownedBy(job, nil))
	s.put("/api/v1/namespaces/elsewhere/pods/claims", ownedBy(job, nil))
	s.put("/api/v1/namespaces/ns/pods/other", ownedBy(headOf(schema.Jobs(), "ns", "other"), nil))

	jobs := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Jobs()}, nil)
	pods := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Pods(), SlimTyped: slimName, Through: []schema.Resource{schema.Jobs()}}, nil)
	server.Background(t, jobs.Serve)
	server.Background(t, pods.Serve)
	server.Await(t, "both caches", func() bool { return jobs.Known() && pods.Known() })

	owned := jobs.Of(owner).Items
	if len(owned) != 1 || len(jobs.Of(stranger).Items) > 0 {
		t.Fatalf("jobs: %+v", owned)
	}
	indirect := pods.OfChild(&owned[0])
	if diff := cmp.Diff([]string{"indirect"}, names(indirect)); diff != "" || indirect[0].Through != owned[0].UID {
		t.Errorf("%s%+v", diff, indirect)
	}
	if diff := cmp.Diff([]string{"direct"}, names(pods.Of(owner).Items)); diff != "" {
		t.Error(diff)
	}
	live, newest, err := pods.Read(t.Context(), owner, owned...)
	if diff := cmp.Diff([]string{"direct", "indirect"}, names(live.Items)); diff != "" || err != nil || newest == "" {
		t.Errorf("%s%v %q", diff, err, newest)
	}
	for _, item := range live.Items {
		if (item.Name == "indirect") != (item.Through == job.Meta.UID) {
			t.Errorf("%s is seen through %q", item.Name, item.Through)
		}
	}

	of := Owner{UID: job.Meta.UID, APIVersion: "batch/v1", Kind: "Job", Namespace: "ns", Name: "a-launcher"}
	want := Owner{UID: owner.Meta.UID, APIVersion: "example.org/v1", Kind: "Widget", Namespace: "ns", Name: "a"}
	if got := jobs.OwnerOf(of); got != want {
		t.Errorf("the owner of %+v is %+v", of, got)
	}
	older := of
	if older.APIVersion = "batch/v1beta1"; jobs.OwnerOf(older) != want {
		t.Error("an owner reference of another version of the Job finds nothing")
	}
	for name, change := range map[string]func(*Owner){
		"an earlier Job of that name": func(o *Owner) { o.UID = "earlier" },
		"another name":                func(o *Owner) { o.Name = "x" },
		"another namespace":           func(o *Owner) { o.Namespace = "x" },
		"another kind":                func(o *Owner) { o.Kind = "CronJob" },
		"another group":               func(o *Owner) { o.APIVersion = "example.org/v1" },
	} {
		other := of
		change(&other)
		if got := jobs.OwnerOf(other); got != (Owner{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// withUID gives an object the UID of a head.
func withUID(o map[string]any, head *schema.Head) map[string]any {
	o["metadata"].(map[string]any)["uid"] = string(head.Meta.UID)
	return o
}

// TestUnwatched: an unwatched resource is neither listed nor watched nor looked for in discovery, and no reconcile waits for it.
func TestUnwatched(t *testing.T) {
	s := newAPIServer(t)
	d := newTestDependents(t, s, "", &watch.Owned{Resource: schema.Secrets(), Unwatched: true}, nil)
	server.Background(t, d.Serve)()
	owner := headOf(widgets(), "ns", "a")
	live, newest, err := d.Read(t.Context(), owner)
	if found := d.Of(owner); !d.Known() || !d.Ready() || found.Unknown || len(found.Items)+len(live.Items) > 0 || newest != "" || err != nil {
		t.Errorf("%+v, %+v, %q, %v", found, live, newest, err)
	}
	if asked := append(s.asked("secrets", false), s.asked("secrets", true)...); len(asked) > 0 {
		t.Errorf("%d requests", len(asked))
	}
}

// TestClaims: children and objects without controller are known with their labels and owners if owners claim by label, as cached and as
// read from the API server. Otherwise none of that is kept.
func TestClaims(t *testing.T) {
	claims := func(*convert.Result) labels.Selector { return labels.Everything() }
	for name, o := range map[string]*watch.Owned{
		"typed":   {Resource: schema.Pods(), SlimTyped: slimName, Claims: claims},
		"untyped": {Resource: schema.Pods(), Claims: claims},
		"without": {Resource: schema.Pods()},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			owner := headOf(widgets(), "ns", "a")
			s.put(podsPath+"child", ownedBy(owner, map[string]any{"app": "x"}))
			s.put(podsPath+"orphan", map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "y"}}})
			s.put(podsPath+"odd", map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{"kind": "K", "name": "n", "uid": "u", "apiVersion": "v1"}}}})
			s.put(podsPath+"deleting", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"a/b"}}})
			s.put("/api/v1/namespaces/elsewhere/pods/far", map[string]any{})
			s.put(podsPath+"foreign", ownedBy(headOf(widgets(), "ns", "other"), nil))
			d := newTestDependents(t, s, "", o, nil)
			server.Background(t, d.Serve)
			server.Await(t, "the children", d.Known)
			read, _, err := d.Read(t.Context(), owner)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range []schema.Children{d.Of(owner), read} {
				var got []string
				for _, c := range found.Items {
					got = append(got, "item "+c.Name)
				}
				for _, c := range found.Unclaimed {
					got = append(got, "child "+c.Name+" "+c.Labels.String())
				}
				for _, c := range found.Orphans {
					text := "orphan " + c.Name + " " + c.Labels.String()
					for _, o := range c.Owners {
						text += o.Name
					}
					got = append(got, text)
				}
				slices.Sort(got)
				want := "child child app=x, orphan odd n, orphan orphan app=y"
				if o.Claims == nil {
					want = "item child"
				}
				if strings.Join(got, ", ") != want {
					t.Errorf("%q, want %q", strings.Join(got, ", "), want)
				}
			}
			everywhere := 0
			d.EachOrphan("", func(schema.Candidate) { everywhere++ })
			informer := d.informer.Load()
			_, indexed := (*informer).GetIndexer().GetIndexers()[byOrphan]
			if (everywhere == 3) != (o.Claims != nil) || indexed != (o.Claims != nil) {
				t.Errorf("%d orphans in all namespaces, indexed: %v", everywhere, indexed)
			}
		})
	}
}

// TestClaim: if an owner claims nothing, its children stay as they are.
func TestClaim(t *testing.T) {
	of := func(name, app string) schema.Candidate {
		return schema.Candidate{Child: schema.Child{Name: name}, Labels: schema.LabelsOf(map[string]string{"app": app})}
	}
	for _, c := range []struct {
		name     string
		selector labels.Selector
		want     string
	}{
		{"none", nil, "children a,b orphans  unclaimed "},
		{"nothing", labels.Nothing(), "children  orphans  unclaimed a,b"},
		{"some", labels.SelectorFromSet(labels.Set{"app": "x"}), "children a orphans c unclaimed b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := schema.Children{Unclaimed: []schema.Candidate{of("a", "x"), of("b", "y")}, Orphans: []schema.Candidate{of("c", "x"), of("d", "y"), of("contested", "x")}}
			Claim(&found, c.selector, func(o schema.Candidate) bool { return o.Name == "contested" })
			list := func(all []schema.Candidate) (names []string) {
				for _, o := range all {
					names = append(names, o.Name)
				}
				return names
			}
			if got := "children " + strings.Join(names(found.Items), ",") + " orphans " + strings.Join(list(found.Orphans), ",") + " unclaimed " + strings.Join(list(found.Unclaimed), ","); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
