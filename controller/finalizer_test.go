package controller

import (
	"maps"
	"testing"
	"time"

	"stoic/schema"
	"stoic/test/faults/apimodel"
)

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
			s.locked(func() {
				s.Serve(gatherers())
				s.Serve(apimodel.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true})
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
			eventually(t, "the caches", func() bool {
				return controller.dependents[0].Known() && controller.dependents[1].Known() && controller.watchers[0].objects.Ready()
			})
			store := func(deleted bool) {
				meta := map[string]any{"name": "a", "namespace": "ns", "uid": "u", "finalizers": []any{finalizer}}
				if deleted {
					maps.Copy(meta, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": int64(0)})
				}
				s.store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"}, "metadata": meta})
			}
			var later string
			s.locked(func() {
				s.held["configmaps"], s.held["gatherers"] = true, true
				s.store(childPath, map[string]any{"metadata": map[string]any{"name": "c", "namespace": "other", "annotations": map[string]any{annotation: "example.com/v1 Gatherer ns/a u"}}})
				store(!c.before)
				later, _ = apimodel.Get(s.store(podsPath+"another", map[string]any{}), "metadata", "resourceVersion").(string)
			})
			eventually(t, "the cache of the pods to be newer than the owner", func() bool { return controller.versionOf(schema.Pods()) == later })
			s.locked(func() { s.held["gatherers"] = false })
			if c.before {
				eventually(t, "the plan before the deletion", func() bool { return len(s.names("pods")) == 2 })
				s.locked(func() { store(true) })
			}
			eventually(t, "a deletion, or the end of the owner", func() bool {
				now.pass(time.Second) // the caches are behind for too long
				return len(s.names("gatherers")) == 0 || s.count("DELETE configmaps") > 0
			})
			s.locked(func() { s.held["configmaps"] = false })
			eventually(t, "the end of the owner", func() bool { return len(s.names("gatherers")) == 0 })
			if left := s.names("configmaps"); len(left) > 0 {
				t.Errorf("the finalizer is gone, and %v is left", left)
			}
		})
	}
}
