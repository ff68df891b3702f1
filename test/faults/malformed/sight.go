package malformed

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// sight is what watches report of the objects of some kinds, of events, and of pods.
type sight struct {
	running interface{ Shutdown() }

	mu      sync.Mutex
	objects map[types.UID]*seen
	changed time.Time
	// pending are the namespaces of the pods that wait for the scheduler or for a node; started counts those that waited once.
	pending map[types.UID]string
	started int
}

// seen is the evidence about one object.
type seen struct {
	// object has no spec; nil before it was seen.
	object   *unstructured.Unstructured
	versions int
	gone     bool
	events   map[types.UID]sentence
}

// sentence is one event.
type sentence struct {
	kind, reason, path, message string
	count                       int64
}

// look starts the watches, until ctx ends. It returns when all that exists is known.
func look(ctx context.Context, client dynamic.Interface, kinds []*kind) (*sight, error) {
	s := &sight{objects: map[types.UID]*seen{}, changed: time.Now(), pending: map[types.UID]string{}}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	watch := func(resource schema.GroupVersionResource, do func(u *unstructured.Unstructured, gone bool)) error {
		informer := factory.ForResource(resource).Informer()
		if err := informer.SetTransform(slim); err != nil {
			return fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
		handle := func(gone bool) func(any) {
			return func(o any) {
				if last, is := o.(cache.DeletedFinalStateUnknown); is {
					o = last.Obj
				}
				if u, is := o.(*unstructured.Unstructured); is {
					s.mu.Lock()
					defer s.mu.Unlock()
					do(u, gone)
				}
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: handle(false), UpdateFunc: func(_, o any) { handle(false)(o) }, DeleteFunc: handle(true)})
		if err != nil {
			return fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
		return nil
	}
	for _, k := range kinds {
		if err := watch(k.Resource, s.object); err != nil {
			return nil, err
		}
	}
	for resource, do := range map[string]func(*unstructured.Unstructured, bool){"events": s.event, "pods": s.pod} {
		if err := watch(schema.GroupVersionResource{Version: "v1", Resource: resource}, do); err != nil {
			return nil, err
		}
	}
	factory.Start(ctx.Done())
	s.running = factory
	for resource, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, context.Cause(ctx))
		}
	}
	return s, nil
}

// slim drops what no oracle needs: specs may be large.
func slim(o any) (any, error) {
	if u, is := o.(*unstructured.Unstructured); is {
		u.SetManagedFields(nil)
		u.SetAnnotations(nil)
		delete(u.Object, "spec")
	}
	return o, nil
}

func (s *sight) of(uid types.UID) *seen {
	if s.objects[uid] == nil {
		s.objects[uid] = &seen{events: map[types.UID]sentence{}}
	}
	return s.objects[uid]
}

func (s *sight) object(u *unstructured.Unstructured, gone bool) {
	o := s.of(u.GetUID())
	o.object, o.gone = u, gone
	o.versions++
	s.changed = time.Now()
}

func (s *sight) event(u *unstructured.Unstructured, gone bool) {
	if gone {
		return
	}
	text := func(fields ...string) string {
		found, _, _ := unstructured.NestedString(u.Object, fields...)
		return found
	}
	count, _, _ := unstructured.NestedInt64(u.Object, "count")
	s.of(types.UID(text("involvedObject", "uid"))).events[u.GetUID()] = sentence{text("type"), text("reason"), text("involvedObject", "fieldPath"), text("message"), max(count, 1)}
	s.changed = time.Now()
}

func (s *sight) pod(u *unstructured.Unstructured, gone bool) {
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	switch _, waited := s.pending[u.GetUID()]; {
	case !gone && (phase == "" || phase == string(corev1.PodPending)):
		s.pending[u.GetUID()] = u.GetNamespace()
	case waited:
		delete(s.pending, u.GetUID())
		s.started++
	}
}

// waiting reports whether a pod of a namespace waits for the scheduler or for a node, and how many, of all namespaces, did before.
func (s *sight) waiting(namespace string) (waits bool, started int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.pending {
		waits = waits || of == namespace
	}
	return waits, s.started
}

// see returns what is known of an object now.
func (s *sight) see(uid types.UID) seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := *s.of(uid)
	now.events = map[types.UID]sentence{}
	for id, e := range s.of(uid).events {
		now.events[id] = e
	}
	return now
}

// forget drops what is no longer needed.
func (s *sight) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.objects)
}

// quiet returns for how long nothing has changed.
func (s *sight) quiet() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.changed)
}

// observed returns the observedGeneration of a status.
func observed(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return n
}
