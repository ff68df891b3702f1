package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
)

// gatherer is a custom resource that adopts the pods with its label, and releases those that have lost it.
type gatherer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Gathers string `json:"gathers" stoic:"required"`
	} `json:"spec"`
	Status gathererStatus `json:"status,omitempty"`
}

type gathererStatus struct {
	Pods []string `json:"pods,omitempty"`
}

// gathering is a server with a controller of gatherers, and what their decisions saw last, by name.
type gathering struct {
	*apiServer
	controller *Controller
	mu         sync.Mutex
	last       map[string]schema.Observed // by name
	creates    bool                       // a plan for an object without pods creates the first of pod-0, pod-1, ... whose name is free
	creating   func()                     // called by a plan that creates
}

const gatherersPath = "/apis/example.com/v1/namespaces/ns/gatherers/"

func gatherers() apimodel.Resource {
	return server.ResourceOf(gathererResource("Gatherer"), true)
}

// newGathering has a watch of gatherers, and one of each other kind, which claims by the same labels.
func newGathering(t *testing.T, others ...string) *gathering {
	t.Helper()
	g := &gathering{apiServer: newAPIServer(t), last: map[string]schema.Observed{}, creating: func() {}}
	g.Locked(func() {
		g.Serve(gatherers())
	})
	owned := &Owned{Resource: schema.Pods(), Claims: func(owner *convert.Result) labels.Selector {
		gathers := owner.Object.(*gatherer).Spec.Gathers
		switch gathers {
		case "panic":
			panic("oh")
		case "":
			return labels.Everything()
		case "nothing":
			return labels.Nothing()
		}
		return labels.SelectorFromSet(labels.Set{"for": gathers})
	}}
	watches := []Watch{Typed(gathererResource("Gatherer"), g.plan, []*Owned{owned})}
	for _, kind := range others {
		r := gathererResource(kind)
		g.Locked(func() {
			g.Serve(server.ResourceOf(r, true))
		})
		watches = append(watches, Typed(r, g.plan, []*Owned{owned}))
	}
	g.controller = newTestController(t, g.apiServer, func(o *Options) { o.Watches = watches })
	return g
}

func gathererResource(kind string) schema.Resource {
	return schema.Resource{Group: "example.com", Version: "v1", Plural: strings.ToLower(kind) + "s", Kind: kind}
}

func (g *gathering) plan(_ *gatherer, o Observed) (plan Plan) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last[o.Head.Meta.Name] = o
	for _, c := range o.Children[0].Orphans {
		plan.Patch = append(plan.Patch, c.Adopt(schema.Pods(), o.Head))
	}
	for _, c := range o.Children[0].Unclaimed {
		plan.Patch = append(plan.Patch, c.Release(schema.Pods(), o.Head))
	}
	if !g.creates {
		return plan
	}
	taken := o.Taken(schema.Pods())
	for i := 0; len(o.Children[0].Items)+len(plan.Patch)+len(plan.Create) == 0; i++ {
		if name := fmt.Sprint("pod-", i); !taken[name] {
			plan.Create = append(plan.Create, schema.PodOf(o.Head, name, map[string]string{"for": "x"}, []byte(`{"spec":{}}`)))
			plan.Status = &gathererStatus{Pods: []string{name}}
			g.creating()
		}
	}
	return plan
}

// gatherer stores a gatherer with a creation time: the larger the later.
func (g *gathering) gatherer(name string, created, gathers string) {
	g.gathererOf("Gatherer", name, created, gathers)
}

func (g *gathering) gathererOf(kind, name, created, gathers string) {
	g.Locked(func() {
		g.Store("/apis/example.com/v1/namespaces/ns/"+gathererResource(kind).Plural+"/"+name, map[string]any{"apiVersion": "example.com/v1", "kind": kind, "spec": map[string]any{"gathers": gathers},
			"metadata": map[string]any{"name": name, "namespace": "ns", "creationTimestamp": "2026-01-0" + created + "T00:00:00Z"}})
	})
}

// pod stores a pod with a label, or changes it to have the label.
func (g *gathering) pod(name, label string, owners ...any) {
	g.Locked(func() {
		o := map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns", "ownerReferences": owners}}
		if was := g.At(podsPath + name); was != nil {
			o = maps.Clone(was)
			o["metadata"] = maps.Clone(o["metadata"].(map[string]any))
		}
		o["metadata"].(map[string]any)["labels"] = map[string]any{"for": label}
		g.Store(podsPath+name, o)
	})
}

// owners returns the owners of a pod, as "Gatherer a" and so on; that of the controller ends with "!".
func (g *gathering) owners(pod string) (found string) {
	g.Locked(func() {
		list, _ := apimodel.Get(g.At(podsPath+pod), "metadata", "ownerReferences").([]any)
		for _, o := range list {
			ref, _ := o.(map[string]any)
			found += ref["kind"].(string) + " " + ref["name"].(string)
			if ref["controller"] == true {
				found += "!"
			}
			found += " "
		}
	})
	return strings.TrimSpace(found)
}

func (g *gathering) awaitOwners(t *testing.T, pod, want string) {
	t.Helper()
	server.Await(t, pod+" to have the owners "+want+", not "+g.owners(pod), func() bool { return g.owners(pod) == want })
}

// saw returns the names of the children, of the orphans and of the unclaimed in an observation.
func saw(o schema.Observed) string {
	var children, orphans, unclaimed []string
	for _, c := range o.Children[0].Items {
		children = append(children, c.Name)
	}
	for _, c := range o.Children[0].Orphans {
		orphans = append(orphans, c.Name)
	}
	for _, c := range o.Children[0].Unclaimed {
		unclaimed = append(unclaimed, c.Name)
	}
	for _, list := range [][]string{children, orphans, unclaimed} {
		slices.Sort(list)
	}
	return strings.Join(children, " ") + "; " + strings.Join(orphans, " ") + "; " + strings.Join(unclaimed, " ")
}

func ref(kind, name, uid string, controller bool) map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": kind, "name": name, "uid": uid, "controller": controller}
}

// TestOldestOwnerAdopts: of two owners that claim an orphan the older one gets it, whichever is reconciled first. Objects that have a
// controller or other labels, or are being deleted, are left alone. Owners that do not control stay.
func TestOldestOwnerAdopts(t *testing.T) {
	g := newGathering(t)
	g.pod("before", "x")
	g.gatherer("a", "2", "x") // younger, though first
	g.gatherer("b", "1", "x")
	g.gatherer("c", "3", "y")
	start(t, g.controller)
	g.awaitOwners(t, "before", "Gatherer b!")
	g.pod("foreign", "x", ref("Other", "o", "other", true))
	g.pod("loose", "x", ref("Other", "o", "other", false))
	g.pod("unlike", "z")
	g.pod("after", "y")
	g.awaitOwners(t, "after", "Gatherer c!")
	g.awaitOwners(t, "loose", "Other o Gatherer b!")
	g.awaitOwners(t, "foreign", "Other o!")
	g.awaitOwners(t, "unlike", "")

	g.pod("unlike", "y") // labels that come later
	g.awaitOwners(t, "unlike", "Gatherer c!")
	g.pod("unlike", "x") // released by one, and taken by the other
	g.awaitOwners(t, "unlike", "Gatherer b!")
	if n := g.count("PATCH pods foreign"); n > 0 {
		t.Errorf("%d writes to what somebody else controls", n)
	}
	// What is read from the API server is sorted in the same way.
	w := g.controller.watchers[0]
	live, err := w.observeLive(t.Context(), w.objects.Get("ns/b"))
	if got, want := saw(live), "before loose unlike; ; "; err != nil || got != want {
		t.Errorf("read live: %s, %v, want %s", got, err, want)
	}
	g.pod("live", "x")
	live, err = w.observeLive(t.Context(), w.objects.Get("ns/b"))
	other, _ := w.observeLive(t.Context(), w.objects.Get("ns/a"))
	if got := saw(other); err != nil || got != "; ; " {
		t.Errorf("the younger one is shown %s", got)
	}
	if got := saw(live); !strings.Contains(got, "live") {
		t.Errorf("read live: %s", got)
	}
}

// TestClaimantThatYields: when the oldest claimant is deleted, or becomes malformed, the next one is woken; a malformed owner keeps what
// it has, whatever the labels are.
func TestClaimantThatYields(t *testing.T) {
	g := newGathering(t)
	g.gatherer("a", "1", "x")
	g.gatherer("b", "2", "x")
	g.refuse = func(verb, resource, name string) *refusing {
		if verb == "PATCH" && resource == "pods" && strings.HasPrefix(name, "later") {
			return &refusing{403, metav1.StatusReasonForbidden, "not yet"}
		}
		return nil
	}
	start(t, g.controller)
	g.pod("p", "x")
	g.awaitOwners(t, "p", "Gatherer a!")
	g.pod("later", "x")
	server.Await(t, "the patch that is refused", func() bool { return g.count("PATCH pods later") > 0 })
	g.Locked(func() {
		g.refuse = nil
		o := maps.Clone(g.At(gatherersPath + "a"))
		o["spec"] = map[string]any{"gathers": int64(7)}
		g.Store(gatherersPath+"a", o)
	})
	g.awaitOwners(t, "later", "Gatherer b!")
	g.pod("p", "z")
	g.pod("sign", "x") // whose adoption by b says that events were worked off
	g.awaitOwners(t, "sign", "Gatherer b!")
	g.awaitOwners(t, "p", "Gatherer a!")
	server.Await(t, "the malformed one to see its pod", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.last["a"].Rejection != nil && saw(g.last["a"]) == "p; ; "
	})
}

// startUnadopted starts the operator with the orphan p, whose adoption is refused, and waits until the claimant b was reconciled.
func (g *gathering) startUnadopted(t *testing.T) {
	t.Helper()
	g.refuse = func(verb, resource, _ string) *refusing {
		if verb == "PATCH" && resource == "pods" {
			return &refusing{403, metav1.StatusReasonForbidden, "not yet"}
		}
		return nil
	}
	start(t, g.controller)
	g.pod("p", "x")
	server.Await(t, "the patch that is refused", func() bool { return g.count("PATCH pods p") > 0 })
	server.Await(t, "the younger one to be looked at", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		_, seen := g.last["b"]
		return seen
	})
}

// TestClaimantThatSelectsOthers: when the oldest claimant of an orphan that it has not adopted selects other objects, or none, the next
// one is woken. An empty selector and a selector of nothing have the same text.
func TestClaimantThatSelectsOthers(t *testing.T) {
	for name, edit := range map[string]struct{ before, after string }{"others": {"x", "y"}, "none": {"", "nothing"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGathering(t)
			g.gatherer("a", "1", edit.before)
			g.gatherer("b", "2", "x")
			g.startUnadopted(t)
			w := g.controller.watchers[0]
			server.Await(t, "the reconciles to end", func() bool { return w.queue.Len() == 0 && w.idle() })
			g.Locked(func() {
				g.refuse = nil
				o := maps.Clone(g.At(gatherersPath + "a"))
				o["spec"] = map[string]any{"gathers": edit.after}
				g.Store(gatherersPath+"a", o)
			})
			g.awaitOwners(t, "p", "Gatherer b!")
		})
	}
}

// TestClaimsPanic: an owner on which Claims panics claims nothing; the others are not disturbed.
func TestClaimsPanic(t *testing.T) {
	g := newGathering(t)
	g.gatherer("a", "1", "panic")
	g.gatherer("b", "2", "x")
	start(t, g.controller)
	g.pod("p", "x")
	g.awaitOwners(t, "p", "Gatherer b!")
	if n := counted(t, g.controller, "training_operator_converter_panics_total"); n == 0 {
		t.Error("the panic is not counted")
	}
}

// TestOwnerThatIsGoneAdoptsNothing: a watch that lags shows an owner that was deleted without its dependents. Garbage collection would
// delete what it adopted.
func TestOwnerThatIsGoneAdoptsNothing(t *testing.T) {
	g := newGathering(t)
	g.gatherer("a", "1", "x")
	start(t, g.controller)
	g.pod("first", "x")
	g.awaitOwners(t, "first", "Gatherer a!")
	g.Locked(func() { g.Held["gatherers"] = true })
	g.Locked(func() { g.Drop(gatherersPath + "a") })
	looked := g.count("GET gatherers a")
	g.pod("second", "x")
	server.Await(t, "the owner to be looked up", func() bool { return g.count("GET gatherers a") > looked })
	server.Await(t, "the reconcile to end", g.controller.watchers[0].idle)
	g.awaitOwners(t, "second", "")
	if n := g.count("PATCH pods second"); n > 0 {
		t.Errorf("%d patches for an owner that is gone", n)
	}
}

// left stores a pod that has no controller any more and that the cache shows as a deleted object's. The watch of pods is held.
func (g *gathering) left(t *testing.T, name string) {
	t.Helper()
	g.pod(name, "x", ref("Gatherer", "a", "old", true))
	start(t, g.controller)
	server.Await(t, "the pod to be seen", func() bool { return g.controller.versionOf(schema.Pods()) != "" })
	g.Locked(func() {
		g.Held["pods"] = true
		orphan := maps.Clone(g.At(podsPath + name))
		orphan["metadata"] = maps.Clone(orphan["metadata"].(map[string]any))
		delete(orphan["metadata"].(map[string]any), "ownerReferences")
		g.Store(podsPath+name, orphan)
	})
}

// TestOrphanThatIsNotSeenYet: a deleted object has orphaned its pod, and another one of its name and kind plans a pod of that name, as the
// cache shows the old controller. The reconcile waits for the cache and adopts the pod, without an event NameConflict. What counts is what
// the plan was made from: the cache may show the orphan by the time that the API server says that the name is taken.
func TestOrphanThatIsNotSeenYet(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(map[bool]string{false: "shown after the look at the pod", true: "shown before the pod is created"}[early], func(t *testing.T) {
			g := newGathering(t)
			g.creates = true
			if early {
				g.creating = func() { g.controller.letShow(t, g.apiServer, "pod-0") }
			}
			g.left(t, "pod-0")
			g.gatherer("a", "2", "x")
			server.Await(t, "the pod to be looked at, whose name is taken", func() bool { return g.count("GET pods pod-0") > 0 })
			g.Locked(func() { g.Held["pods"] = false })
			g.awaitOwners(t, "pod-0", "Gatherer a!")
			if pods := g.names("pods"); !slices.Equal(pods, []string{"pod-0"}) || g.hasEvent("NameConflict") {
				t.Errorf("pods %v, event NameConflict: %v", pods, g.hasEvent("NameConflict"))
			}
		})
	}
}

// TestIsEverywhere: if only one namespace is served, children that may be in others are seen nevertheless.
func TestIsEverywhere(t *testing.T) {
	plain, annotated, ofCluster := &Owned{Resource: schema.ConfigMaps()}, &Owned{Resource: schema.ConfigMaps(), OwnerAnnotation: "test.example.com/owner"},
		&Owned{Resource: schema.ConfigMaps()}
	c := &Controller{options: Options{Namespace: "team", Watches: []Watch{
		{Resource: schema.Resource{Plural: "foobars"}, Owns: []*Owned{plain, annotated, ofCluster}},
		{Resource: schema.Resource{Plural: "clusterfoobars", Cluster: true}, Owns: []*Owned{ofCluster}}}}}
	if c.isEverywhere(plain) || !c.isEverywhere(annotated) || !c.isEverywhere(ofCluster) {
		t.Error(c.isEverywhere(plain), c.isEverywhere(annotated), c.isEverywhere(ofCluster))
	}
}
