package controller

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller/consistency"
	"stoic/schema"
	"stoic/test/faults/apimodel"
)

// TestPatchFollowsChildren: a Service says which pods there are. It is not patched by what a cache of pods shows that is older than the
// Service: a pod that is missing from it may be why the Service says what it says. Found by the fault rig (G3), where a process
// that began in the past took from a Role the workers that it did not see. A cache that never comes so far is read around.
func TestPatchFollowsChildren(t *testing.T) {
	s := newAPIServer(t)
	s.locked(func() {
		s.Serve(apimodel.Resource{Group: "example.com", Version: "v1", Plural: "gatherers", Kind: "Gatherer", Namespaced: true, Status: true})
	})
	var late atomic.Int64 // what the clock is ahead
	var stale atomic.Int32
	listing := func(u *unstructured.Unstructured) any {
		text, _, _ := unstructured.NestedString(u.Object, "spec", "externalName")
		return text
	}
	c := newTestController(t, s, func(o *Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
		o.Watches = []Watch{Typed(schema.Resource{Group: "example.com", Version: "v1", Plural: "gatherers", Kind: "Gatherer"},
			func(_ *gatherer, o Observed) (plan Plan) {
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
						stale.Add(1)
					}
					patch := service.Patch(schema.Services(), map[string]any{"spec": map[string]any{"externalName": want}})
					patch.Follows = []schema.Resource{schema.Pods()}
					plan.Patch = append(plan.Patch, patch)
				}
				return plan
			}, []*Owned{{Resource: schema.Pods()}, {Resource: schema.Services(), Slim: listing}})}
	})
	const path = "/api/v1/namespaces/ns/services/s"
	put := func(path, name string, spec map[string]any) {
		s.locked(func() {
			o := map[string]any{"metadata": map[string]any{"name": name, "namespace": "ns", "ownerReferences": []any{ref("Gatherer", "a", "uid-a", true)}}}
			if was := s.At(path); was != nil {
				o = maps.Clone(was)
			}
			o["spec"] = spec
			s.store(path, o)
		})
	}
	says := func() (text string) {
		s.locked(func() { text, _ = apimodel.Get(s.At(path), "spec", "externalName").(string) })
		return text
	}
	s.locked(func() {
		s.store(gatherersPath+"a", map[string]any{"apiVersion": "example.com/v1", "kind": "Gatherer", "spec": map[string]any{"gathers": "x"},
			"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": "uid-a"}})
	})
	put(path, "s", map[string]any{"externalName": "none"})
	put(podsPath+"p", "p", map[string]any{})
	start(t, c)
	eventually(t, "the Service to name p", func() bool { return says() == "p" })

	s.locked(func() { s.held["pods"] = true })
	put(podsPath+"q", "q", map[string]any{})
	put(path, "s", map[string]any{"externalName": "p.q"})
	eventually(t, "two decisions by a cache without q", func() bool { return stale.Load() >= 1 && c.watchers[0].queue.Len() == 0 && c.watchers[0].idle() })
	if got := says(); got != "p.q" {
		t.Fatalf("the Service names %s: q was taken out of it, which the cache does not show yet", got)
	}
	s.locked(func() { s.held["pods"] = false })
	eventually(t, "q in the cache", func() bool {
		return consistency.Reached(c.versionOf(schema.Pods()), apimodel.Get(s.At(podsPath+"q"), "metadata", "resourceVersion").(string))
	})
	patches := s.count("PATCH services")
	if patches != 1 {
		t.Errorf("%d patches, want the first alone", patches)
	}

	s.locked(func() { s.held["pods"] = true })
	put(path, "s", map[string]any{"externalName": "edited"})
	eventually(t, "the Service to be put right by what the API server says", func() bool {
		late.Add(int64(time.Second))
		return says() == "p.q"
	})
}
