package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"stoic/schema"
)

// extraWatch watches the extra objects of one resource that belong to jobs: cut down, selected by label and indexed by
// owner, as pods and services are. Its CRD may be missing; that concerns only the jobs that ask for such an object.
type extraWatch struct {
	*presence
	resource  schema.Resource
	namespace string
	selector  string
	objects   dynamic.NamespaceableResourceInterface
	informers func(tell func(error)) cache.SharedIndexInformer // makes one
	discovery discovery.ServerResourcesInterfaceWithContext
	wakeAll   func() // wakes all jobs that may ask for such an object

	// informer is the one that runs now, or nil while the resource is not served.
	informer atomic.Pointer[cache.SharedIndexInformer]
	// trouble is why the informer does not know the objects, in words for the author of a job; nil if it is not known.
	trouble atomic.Pointer[string]
	// missed: a pass has not seen the objects. When that changes, it shall come again.
	missed atomic.Bool
	// futile holds the last write of an object that led to nothing, by the object's UID, or its owner's if there is none.
	futile sync.Map
}

func newExtraWatch(c *Controller, r schema.Resource, untyped dynamic.Interface, d discovery.DiscoveryInterface) *extraWatch {
	resource := runtimeschema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Plural}
	e := &extraWatch{presence: newPresence(c, r.Kind), resource: r, namespace: c.options.Namespace, selector: c.children.selector,
		objects: untyped.Resource(resource), discovery: discovery.ToServerResourcesInterfaceWithContext(d)}
	e.informers = func(tell func(error)) cache.SharedIndexInformer {
		informer := untypedInformer(untyped, resource, e.namespace, e.selector, tell, e.slim, cache.Indexers{byOwner: indexByOwner})
		_, _ = informer.AddEventHandler(e.waking(c.wake)) // it cannot fail before the informer runs
		return informer
	}
	e.wakeAll = func() {
		for _, l := range c.loops {
			if slices.Contains(l.extras, e) && c.leads() {
				l.enqueueAll()
			}
		}
	}
	e.served, e.watch = e.servedNow, e.observing
	return e
}

func (e *extraWatch) servedNow(ctx context.Context) (bool, error) {
	list, err := e.discovery.ServerResourcesForGroupVersionWithContext(ctx, e.resource.APIVersion())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the resources of %s: %w", e.resource.APIVersion(), err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == e.resource.Plural }), nil
}

// serve watches for as long as there is something to watch, until ctx ends.
func (e *extraWatch) serve(ctx context.Context) { e.keep(ctx, e.changed) }

// changed: what passes are told of the objects is not what it was.
func (e *extraWatch) changed() {
	if e.missed.Swap(false) {
		e.wakeAll()
	}
}

// observing runs one informer until ctx ends.
func (e *extraWatch) observing(ctx context.Context, doubt func(error)) {
	var informer cache.SharedIndexInformer
	tell := func(err error) {
		doubt(err)
		why := fmt.Sprintf("%s of %s cannot be watched: %v", e.resource.Kind, e.resource.APIVersion(), err)
		if e.trouble.Swap(&why) == nil && !informer.HasSynced() {
			e.changed()
		}
	}
	informer = e.informers(tell)
	_ = informer.SetWatchErrorHandlerWithContext(doubting(tell))
	e.trouble.Store(nil)
	e.informer.Store(&informer)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			e.trouble.Store(nil)
			e.changed()
		}
	}()
	informer.RunWithContext(ctx)
	e.informer.Store(nil)
	e.futile.Clear()
}

// see returns the cached objects of one owner, or why they are not known.
func (e *extraWatch) see(namespace string, owner types.UID) (found []schema.StoredExtra, unseen *schema.Unseen) {
	if e.unseen() != nil {
		e.missed.Store(true) // before the look that counts, so that a change in between is not missed
	}
	if unseen = e.unseen(); unseen != nil {
		return nil, unseen
	}
	if informer := e.informer.Load(); informer != nil {
		for _, c := range indexed(*informer, namespace, owner) {
			if c.extra != nil {
				found = append(found, *c.extra)
			}
		}
	}
	return found, nil
}

// unseen is nil if all objects are known.
func (e *extraWatch) unseen() *schema.Unseen {
	informer := e.informer.Load()
	unseen := &schema.Unseen{Resource: e.resource}
	switch why := e.trouble.Load(); {
	case informer != nil && (*informer).HasSynced():
		return nil
	case informer != nil && why != nil:
		unseen.Why = *why
	case informer == nil && e.looked.Load():
		unseen.Why = fmt.Sprintf("the API server does not serve %s of %s", e.resource.Kind, e.resource.APIVersion())
	}
	return unseen
}

// live reads them from the API server instead.
func (e *extraWatch) live(ctx context.Context, namespace, job string, owner types.UID) (found []schema.StoredExtra, unseen *schema.Unseen, _ error) {
	if _, unseen := e.see(namespace, owner); unseen != nil || len(validation.IsValidLabelValue(job)) > 0 {
		return nil, unseen, nil
	}
	list, err := e.objects.Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: e.selector + "," + schema.LabelJob + "=" + job})
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", e.resource.Plural, err)
	}
	for i := range list.Items {
		if c := e.slimExtra(&list.Items[i]); c.owner().uid == owner {
			found = append(found, *c.extra)
		}
	}
	return found, nil, nil
}

// version is how far the cache has come.
func (e *extraWatch) version() string {
	if informer := e.informer.Load(); informer != nil {
		return (*informer).GetStore().LastStoreSyncResourceVersion()
	}
	return ""
}

// slim is the informer's transform. It is total: what it gets may be anything that a CRD of somebody else's lets
// through. See converting for what client-go asks of it.
func (e *extraWatch) slim(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return e.slimExtra(u), nil
	}
	if _, ok := obj.(metav1.ObjectMetaAccessor); ok {
		return obj, nil
	}
	return &child{}, nil
}

func (e *extraWatch) slimExtra(u *unstructured.Unstructured) *child {
	var object, meta map[string]any
	if u != nil {
		object = u.Object
		meta, _ = object["metadata"].(map[string]any)
	}
	c := &child{identity: identity{Name: textOf(meta, "name"), Namespace: textOf(meta, "namespace"),
		UID: uid(textOf(meta, "uid")), ResourceVersion: textOf(meta, "resourceVersion")}}
	owners, _ := meta["ownerReferences"].([]any)
	for _, o := range owners {
		owner, _ := o.(map[string]any)
		if controls, _ := owner["controller"].(bool); controls {
			c.owned = unique.Make(ownerKey{uid: uid(textOf(owner, "uid")), apiVersion: textOf(owner, "apiVersion"), kind: textOf(owner, "kind"),
				key: c.Namespace + "/" + textOf(owner, "name")})
		}
	}
	status, _ := object["status"].(map[string]any)
	c.extra = &schema.StoredExtra{Resource: e.resource, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
		Deleting: textOf(meta, "deletionTimestamp") != "", Phase: textOf(status, "phase")}
	c.extra.Created, _ = time.Parse(time.RFC3339, textOf(meta, "creationTimestamp")) // else it is old
	c.extra.Spec, _ = json.Marshal(object["spec"])                                   // what cannot be written is nothing
	return c
}

// textOf a field; what is no string is an empty one.
func textOf(object map[string]any, field string) string {
	text, _ := object[field].(string)
	return text
}

// futility is a write that was refused for good, or changed nothing.
type futility struct {
	asked   string
	refused bool
	tries   int
	again   time.Time
}

// spare is how long a write would still lead to nothing once more; 0 says that it is to be tried. Without it, a job that runs
// well would send one in each pass for an object that it goes on without. What was refused is worth a pass of its own then: as
// of everything that is refused, its cause may be gone without an event, as a webhook that had a bad minute. What changed
// nothing is not: that lies with a schema.
func (e *extraWatch) spare(of types.UID, asked string, now time.Time) (wait, wake time.Duration) {
	was, _ := e.futile.Load(of)
	f, ok := was.(futility)
	if !ok || f.asked != asked || !now.Before(f.again) {
		return 0, 0
	}
	wait = f.again.Sub(now)
	if f.refused {
		return wait, wait
	}
	return wait, 0
}

// note that a write led to nothing, with an error or without, or that it did lead to something.
func (e *extraWatch) note(of types.UID, asked string, err error, changed bool, now time.Time) {
	refused := sortError(err) == probe
	if !refused && (err != nil || changed) {
		e.futile.Delete(of)
		return
	}
	f := futility{asked: asked, refused: refused}
	if was, _ := e.futile.Load(of); was != nil {
		if before, ok := was.(futility); ok && before.asked == asked {
			f.tries = before.tries + 1
		}
	}
	f.again = now.Add(min(firstProbe<<min(f.tries, 10), slowProbe))
	e.futile.Store(of, f)
}

// waking queues the owner of what changed, if what changed matters.
func (e *extraWatch) waking(wake func(ownerKey)) cache.ResourceEventHandler {
	handler := waking(wake)
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { handler.OnAdd(obj, false) },
		UpdateFunc: handler.OnUpdate,
		DeleteFunc: func(obj any) {
			if c, ok := obj.(*child); ok {
				e.futile.Delete(c.UID)
			}
			handler.OnDelete(obj)
		},
	}
}

// sameExtra: the resourceVersion changes with every report of a controller, and no decision depends on it.
func sameExtra(a, b *schema.StoredExtra) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.UID == b.UID && a.Deleting == b.Deleting && a.Phase == b.Phase && bytes.Equal(a.Spec, b.Spec)
}
