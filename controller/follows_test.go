package controller

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/test/faults/apimodel/server"
	"stoic/training/kinds"
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
	s.Locked(func() {
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
	s.Locked(func() {
		s.Store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"},
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
	s.Locked(func() {
		o := map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns", "ownerReferences": []any{ref("Gatherer", "a", "uid-a", true)}}}
		if was := s.At(path); was != nil {
			o = maps.Clone(was)
		}
		o["spec"] = spec
		s.Store(path, o)
	})
}

func (s *following) says() (text string) {
	s.Locked(func() { text, _ = apimodel.Get(s.At(followingService), "spec", "externalName").(string) })
	return text
}

// hold holds the watch of pods, or lets it go on.
func (s *following) hold(pods bool) { s.Locked(func() { s.Held["pods"] = pods }) }

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
	server.Await(t, "the Service to name p", func() bool { return s.says() == "p" })

	s.addUnseen()
	server.Await(t, "a decision by a cache without q", func() bool { return s.stale.Load() >= 1 && w.queue.Len() == 0 && w.idle() })
	if got := s.says(); got != "p.q" {
		t.Fatalf("the Service names %s: q was taken out of it, which the cache does not show yet", got)
	}
	s.hold(false)
	server.Await(t, "q in the cache", func() bool { return s.controller.shows(s.apiServer, "q") })
	if patches := s.count("PATCH services"); patches != 1 {
		t.Errorf("%d patches, want the first alone", patches)
	}

	s.hold(true)
	s.put(followingService, "s", map[string]any{"externalName": "edited"})
	server.Await(t, "the Service to be put right by what the API server says", func() bool {
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
	server.Await(t, "the Service to name p", func() bool { return s.says() == "p" })
	s.addUnseen()
	w := s.controller.watchers[0]
	server.Await(t, "a decision by a cache without q", func() bool {
		return s.stale.Load() >= 1 && s.controller.shows(s.apiServer, "q") && w.queue.Len() == 0 && w.idle()
	})
	if patches := s.count("PATCH services"); patches != 1 {
		t.Errorf("%d patches, want the first alone: q was taken out of the Service", patches)
	}
}

// TestFinalizerOutlivesOptionalChildren: an earlier leader has made a child in another namespace, which only a finalizer deletes. The
// watch of its resource lags behind that of the owner. The finalizer stays until the child is gone, even if the resource is optional, and
// if the owner was verified for another plan before it was deleted.
func TestFinalizerOutlivesOptionalChildren(t *testing.T) {
	const annotation, childPath, finalizer = "example.com/owner", "/api/v1/namespaces/other/configmaps/c", "example.com/f"
	for name, c := range map[string]struct{ optional, before bool }{
		"required":                      {false, false},
		"optional":                      {true, false},
		"optional, verified beforehand": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newAPIServer(t)
			s.Locked(func() {
				s.Serve(gatherers())
				s.Serve(server.ResourceOf(schema.ConfigMaps(), false))
			})
			w := Typed(gathererResource("Gatherer"), func(_ *gatherer, o Observed) (p Plan) {
				children := o.Of(schema.ConfigMaps())
				switch {
				case o.Head.Meta.DeletionTimestamp == nil && o.Child(schema.Pods(), "ns", "p") == nil:
					p.Create = []schema.Object{schema.PodOf(o.Head, "p", nil, []byte(`{"spec":{}}`))}
				case o.Head.Meta.DeletionTimestamp != nil && len(children) == 0:
					p.RemoveFinalizers = []string{finalizer}
				case o.Head.Meta.DeletionTimestamp != nil:
					p.DeleteChild(schema.ConfigMaps(), &children[0])
				}
				return p
			}, []*Owned{{Resource: schema.Pods()}, {Resource: schema.ConfigMaps(), OwnerAnnotation: annotation, Optional: c.optional}})
			now := newClock()
			controller := newTestController(t, s, func(o *Options) { o.Watches, o.Now = []Watch{w}, now.now })
			start(t, controller)
			server.Await(t, "the caches", func() bool {
				return controller.dependents[0].Known() && controller.dependents[1].Known() && controller.watchers[0].objects.Ready()
			})
			store := func(deleted bool) {
				meta := map[string]any{"name": "a", "namespace": "ns", "uid": "u", "finalizers": []any{finalizer}}
				if deleted {
					maps.Copy(meta, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": int64(0)})
				}
				s.Store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"}, "metadata": meta})
			}
			var later string
			s.Locked(func() {
				s.Held["configmaps"], s.Held["gatherers"] = true, true
				s.Store(childPath, map[string]any{"metadata": map[string]any{"name": "c", "namespace": "other", "annotations": map[string]any{annotation: "example.com/v1 Gatherer ns/a u"}}})
				store(!c.before)
				later, _ = apimodel.Get(s.Store(podsPath+"another", map[string]any{}), "metadata", "resourceVersion").(string)
			})
			server.Await(t, "the cache of the pods to be newer than the owner", func() bool { return controller.versionOf(schema.Pods()) == later })
			s.Locked(func() { s.Held["gatherers"] = false })
			if c.before {
				server.Await(t, "the plan before the deletion", func() bool { return len(s.names("pods")) == 2 })
				s.Locked(func() { store(true) })
			}
			server.Await(t, "a deletion, or the end of the owner", func() bool {
				now.pass(time.Second) // the caches are behind for too long
				return len(s.names("gatherers")) == 0 || s.count("DELETE configmaps") > 0
			})
			s.Locked(func() { s.Held["configmaps"] = false })
			server.Await(t, "the end of the owner", func() bool { return len(s.names("gatherers")) == 0 })
			if left := s.names("configmaps"); len(left) > 0 {
				t.Errorf("the finalizer is gone, and %v is left", left)
			}
		})
	}
}

// TestReadsAreAwaited: a process that starts decides nothing before it has read what decisions depend on, or knows why it cannot. An
// earlier decision would report, and roll back, what only had not been read yet.
func TestReadsAreAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		refusal *refusing
		why     bool
	}{
		"read":    {},
		"refused": {&refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "no"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.Locked(func() {
				s.Serve(server.ResourceOf(schema.ConfigMaps(), false))
			})
			asked, answer := make(chan struct{}), make(chan struct{})
			var once sync.Once
			release := sync.OnceFunc(func() { close(answer) })
			t.Cleanup(release)
			s.refuse = func(verb, resource, _ string) *refusing {
				if verb == http.MethodGet && resource == "configmaps" {
					once.Do(func() { close(asked) })
					<-answer
					return c.refusal
				}
				return nil
			}
			decided := make(chan schema.Children, 100)
			controller := newTestController(t, s, func(o *Options) {
				o.Watches = jobs(o, kinds.TFJob())
				o.Watches[0].Reads = []*Read{{Resource: schema.ConfigMaps()}}
				o.Watches[0].Decide = func(seen Observed) Plan {
					decided <- seen.Read(schema.ConfigMaps())
					return Plan{}
				}
			})
			s.put(job("a", 1, `{}`))
			start(t, controller)
			select {
			case <-asked:
			case <-time.After(server.Patience):
				t.Fatal("the configmaps were not listed")
			}
			server.Await(t, "all other resources to be read", func() bool { return controller.Unread() == "configmaps" })
			if len(decided) > 0 {
				t.Fatal("a decision was made before what it depends on was read")
			}
			release()
			if got := <-decided; got.Unknown != c.why || (got.Why != "") != c.why {
				t.Errorf("the first decision sees %+v", got)
			}
			if unread := controller.Unread(); unread != "" {
				t.Errorf("%s is said to be unread", unread)
			}
		})
	}
}
