package controller

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/faults/apimodel"
)

// following is a server with a controller that writes the names of an object's pods into its Service.
type following struct {
	*apiServer
	controller *Controller
	late       atomic.Int64 // what the clock is ahead
	stale      atomic.Int32 // how many plans would take q out of the Service
	deciding   func()       // called by each of these
}

const followingService = "/api/v1/namespaces/ns/services/s"

// newFollowing starts with the pod p, and a Service that names it.
func newFollowing(t *testing.T) *following {
	t.Helper()
	s := &following{apiServer: newAPIServer(t), deciding: func() {}}
	s.locked(func() {
		s.Serve(gatherers())
	})
	listing := func(u *unstructured.Unstructured) any {
		text, _, _ := unstructured.NestedString(u.Object, "spec", "externalName")
		return text
	}
	s.controller = newTestController(t, s.apiServer, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(s.late.Load())) }
		o.Watches = []Watch{Typed(gathererResource("Gatherer"), s.plan, []*Owned{{Resource: schema.Pods()}, {Resource: schema.Services(), Slim: listing}})}
	})
	s.locked(func() {
		s.store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"},
			"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "uid-a"}})
	})
	s.put(followingService, "s", map[string]any{"externalName": "none"})
	s.put(podsPath+"p", "p", map[string]any{})
	return s
}

func (s *following) plan(_ *gatherer, o Observed) (plan Plan) {
	var names []string
	for _, pod := range o.Of(schema.Pods()) {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	want := strings.Join(names, ".")
	for _, service := range o.Of(schema.Services()) {
		if service.Object == want {
			continue
		}
		if service.Object == "p.q" {
			s.stale.Add(1)
			s.deciding()
		}
		patch := service.Patch(schema.Services(), map[string]any{"spec": map[string]any{"externalName": want}})
		patch.Follows = []schema.Resource{schema.Pods()}
		plan.Patch = append(plan.Patch, patch)
	}
	return plan
}

// put stores a dependent of the object, or changes its spec.
func (s *following) put(path, name string, spec map[string]any) {
	s.locked(func() {
		o := map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns", "ownerReferences": []any{ref("Gatherer", "a", "uid-a", true)}}}
		if was := s.At(path); was != nil {
			o = maps.Clone(was)
		}
		o["spec"] = spec
		s.store(path, o)
	})
}

func (s *following) says() (text string) {
	s.locked(func() { text, _ = apimodel.Get(s.At(followingService), "spec", "externalName").(string) })
	return text
}

// hold holds the watch of pods, or lets it go on.
func (s *following) hold(pods bool) { s.locked(func() { s.held["pods"] = pods }) }

// addUnseen adds the pod q to the Service before the cache shows q.
func (s *following) addUnseen() {
	s.hold(true)
	s.put(podsPath+"q", "q", map[string]any{})
	s.put(followingService, "s", map[string]any{"externalName": "p.q"})
	s.put(podsPath+"q", "q", map[string]any{"nodeName": "n"}) // so that a cache that shows it is as new as the Service
}

// TestPatchFollowsChildren: a Service says which pods exist. It is not patched from a cache of pods that is older than the Service: a pod
// that is missing from the cache may be why the Service says what it says. Found by the fault rig (G3), where a process that began with a
// past state removed from a Role the workers that it did not see. If the cache never reaches the version, the API server is read.
func TestPatchFollowsChildren(t *testing.T) {
	s := newFollowing(t)
	w := s.controller.watchers[0]
	start(t, s.controller)
	eventually(t, "the Service to name p", func() bool { return s.says() == "p" })

	s.addUnseen()
	eventually(t, "a decision by a cache without q", func() bool { return s.stale.Load() >= 1 && w.queue.Len() == 0 && w.idle() })
	if got := s.says(); got != "p.q" {
		t.Fatalf("the Service names %s: q was taken out of it, which the cache does not show yet", got)
	}
	s.hold(false)
	eventually(t, "q in the cache", func() bool { return s.controller.shows(s.apiServer, "q") })
	if patches := s.count("PATCH services"); patches != 1 {
		t.Errorf("%d patches, want the first alone", patches)
	}

	s.hold(true)
	s.put(followingService, "s", map[string]any{"externalName": "edited"})
	eventually(t, "the Service to be put right by what the API server says", func() bool {
		s.late.Add(int64(time.Second))
		return s.says() == "p.q"
	})
}

// TestPatchFollowsWhatWasSeen: the cache of pods shows q after the plan was made and before it is applied. What counts is what the plan was
// made from.
func TestPatchFollowsWhatWasSeen(t *testing.T) {
	s := newFollowing(t)
	s.deciding = func() { s.controller.letShow(t, s.apiServer, "q") }
	start(t, s.controller)
	eventually(t, "the Service to name p", func() bool { return s.says() == "p" })
	s.addUnseen()
	w := s.controller.watchers[0]
	eventually(t, "a decision by a cache without q", func() bool {
		return s.stale.Load() >= 1 && s.controller.shows(s.apiServer, "q") && w.queue.Len() == 0 && w.idle()
	})
	if patches := s.count("PATCH services"); patches != 1 {
		t.Errorf("%d patches, want the first alone: q was taken out of the Service", patches)
	}
}
