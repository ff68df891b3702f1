package cache

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/watch"
	"stoic/internal/lean"
	"stoic/schema"
)

// Dependents are the cached children of one resource.
type Dependents struct {
	*availability
	*watch.Owned
	source Source
	reads  reader
	panics *authorPanics
	// wake is called with the owner of whatever changed.
	wake func(Owner)
	// wakeAll is called when anything changed, of a resource whose objects concern all; or nil.
	wakeAll func()
	// changed is called when the children become visible, or stop being visible, after a reconcile has missed them.
	changed func()

	// orphan is called with whatever has no controller and was created or changed, if owners claim by label; or nil.
	orphan func(schema.Candidate)

	// wanted reports whether objects that own such children are served, if that is known. Nothing is watched while no such owner can
	// exist; nil: the children are always wanted.
	wanted func() (served, known bool)
	// idle: no object that owns such children is served.
	idle atomic.Bool

	// informer is the one that runs now, or nil while the resource is not served.
	informer atomic.Pointer[cache.SharedIndexInformer]
	// trouble is why the informer does not know the children, in words for the user; nil if that is not known.
	trouble atomic.Pointer[string]
	// missed: a reconcile has not seen the children. It is queued again when that changes.
	missed atomic.Bool
	// shown: an informer has read all objects. What is deleted or changes after it has ended has no event.
	shown atomic.Bool
}

const byOwner = "owner"

// NewDependents makes the cache of a resource. It watches nothing until Serve is called.
func NewDependents(from Source, typed *lean.Clients, o *watch.Owned, wake func(Owner), changed func()) *Dependents {
	builtin := o.SlimTyped != nil
	// A built-in resource is always served, and one gauge cannot represent several versions of a kind.
	published := !builtin && !o.Unwatched && !o.Alternative
	d := &Dependents{availability: newAvailability(o.Resource.Kind, published, from.Log, from.Metrics), Owned: o, source: from, wake: wake, changed: changed}
	d.reads = &untypedReader{d}
	d.panics = newAuthorPanics(d.log, from.Metrics.ConverterPanics.WithLabelValues(o.Resource.Kind))
	if d.alternative = o.Alternative; builtin {
		d.reads, d.builtin = &typedReader{d, typed.Of(o.Resource)}, true
	}
	d.served, d.watch = d.isServed, d.observe
	return d
}

// NewReads makes the cache of a Read. It watches nothing until Serve is called. wakeAll is called whenever any object of it changed.
func NewReads(from Source, r *watch.Read, wakeAll func()) *Dependents {
	owned := &watch.Owned{Resource: r.Resource, Selector: r.Selector, Slim: r.Slim, Same: r.Same, Optional: true}
	d := NewDependents(from, nil, owned, nil, wakeAll)
	d.wakeAll = wakeAll
	return d
}

func (d *Dependents) isServed(ctx context.Context) (bool, error) {
	if d.builtin {
		return true, nil
	}
	served, _, err := asks(ctx, d.source.Discovery, d.Resource)
	return served, err
}

// Serve watches whenever the resource is served, until ctx ends.
func (d *Dependents) Serve(ctx context.Context) {
	if d.Unwatched {
		return
	}
	for d.wanted != nil && !d.builtin && ctx.Err() == nil {
		served, known := d.wanted()
		d.idle.Store(known && !served)
		if served {
			break
		}
		if known {
			pause(ctx, recheckAbsent/2)
		} else {
			pause(ctx, recheckUnknown)
		}
	}
	d.run(ctx, d.renewed)
}

// ServeWhile makes Serve wait until objects that own such children are served.
func (d *Dependents) ServeWhile(wanted func() (served, known bool)) { d.wanted = wanted }

// visibility queues the reconciles that missed the children, as what they can see has changed.
func (d *Dependents) visibility() {
	if d.missed.Swap(false) {
		d.changed()
	}
}

// renewed queues all objects again, as reconciles now see the children of another informer, or none. A new informer has no event for what
// was deleted since the last one ended. For a Read, it has none for what was changed or created either.
func (d *Dependents) renewed() {
	if d.shown.Load() {
		d.missed.Store(true)
	}
	d.visibility()
}

// observe runs one informer until ctx ends.
func (d *Dependents) observe(ctx context.Context, report func(error)) {
	var informer cache.SharedIndexInformer
	explain := func(err error) {
		if report(err); err == nil {
			return
		}
		why := fmt.Sprintf("%s of %s cannot be watched: %v", d.Resource.Kind, d.Resource.APIVersion(), err)
		if d.trouble.Swap(&why) == nil && !informer.HasSynced() {
			d.visibility()
		}
	}
	informer = d.reads.informer(explain)
	// Neither call can fail before the informer runs.
	_ = informer.SetWatchErrorHandlerWithContext(reportStart(explain))
	_, _ = informer.AddEventHandler(d.handlers())
	d.trouble.Store(nil)
	d.size.empty()
	d.panics.forgetAll(func(types.UID) bool { return true }) // what is deleted before it begins has no event
	d.informer.Store(&informer)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			d.trouble.Store(nil)
			d.renewed()
		}
	}()
	informer.RunWithContext(ctx)
	if informer.HasSynced() {
		d.read.Store(true)
		d.shown.Store(true)
	}
	d.informer.Store(nil)
	d.size.empty()
}

// handlers wake the owner of whatever changed, if the change matters.
func (d *Dependents) handlers() cache.ResourceEventHandler {
	if d.wakeAll != nil {
		return d.handlersOfReads()
	}
	of := func(obj any) {
		switch c, ok := obj.(*child); {
		case ok && c.owner().UID != "":
			d.wake(c.owner())
		case ok && c.isOrphan() && d.orphan != nil:
			d.orphan(c.candidate())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.size.add(1); of(obj) },
		DeleteFunc: func(obj any) { of(d.removed(obj)) },
		UpdateFunc: func(before, after any) {
			was, ok1 := before.(*child)
			is, ok2 := after.(*child)
			if ok1 && ok2 && d.same(was, is) {
				return // a heartbeat, a probe, an annotation of another program: no decision depends on it
			}
			if ok1 && (!ok2 || was.owned != is.owned) {
				of(before)
			}
			of(after)
		},
	}
}

// handlersOfReads wake all for every change except what the first list holds: visibility covers that.
func (d *Dependents) handlersOfReads() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(_ any, initial bool) {
			d.size.add(1)
			if !initial {
				d.wakeAll()
			}
		},
		UpdateFunc: func(before, after any) {
			was, ok1 := before.(*child)
			is, ok2 := after.(*child)
			if !ok1 || !ok2 || !d.same(was, is) {
				d.wakeAll()
			}
		},
		DeleteFunc: func(obj any) { d.removed(obj); d.wakeAll() },
	}
}

// removed notes that an object is gone, and returns what was last known of it.
func (d *Dependents) removed(obj any) any {
	d.size.add(-1)
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if c, ok := obj.(*child); ok {
		d.panics.forget(c.UID)
	}
	return obj
}

func (d *Dependents) same(a, b *child) bool {
	if a.owned != b.owned || a.Name != b.Name || a.UID != b.UID || a.deleting != b.deleting || !reflect.DeepEqual(a.claim, b.claim) {
		return false
	}
	switch {
	case d.Slim == nil && d.SlimTyped == nil:
		return a.ResourceVersion == b.ResourceVersion
	case d.Same != nil:
		return guarded(d.panics, "Same panicked; the change counts", b, func() bool { return d.Same(a.object, b.object) })
	}
	return reflect.DeepEqual(a.object, b.object)
}

// indexByOwner indexes children by the UID of their owner. Of drops those whose namespace the owner does not reach.
func indexByOwner(obj any) ([]string, error) {
	if c, ok := obj.(*child); ok && c.owner().UID != "" {
		return []string{string(c.owner().UID)}, nil
	}
	return nil, nil // an error here would end the process
}

// Of returns the cached children of one object, or why they are not known. If Owned.Claims is set, children are among Unclaimed, and all
// objects without controller among Orphans, until Claim has checked their labels. A child whose namespaced owner is in another namespace
// is not returned; garbage collection deletes it, but not immediately.
func (d *Dependents) Of(owner *schema.Head) schema.Children {
	found, informer := d.look()
	if found.Unknown || informer == nil {
		return found
	}
	found.Version = versionOf(informer)
	objects, err := (*informer).GetIndexer().ByIndex(byOwner, string(owner.Meta.UID))
	if err != nil {
		return found // the index exists: it was given to the informer when it was made
	}
	found.Items = make([]schema.Child, 0, len(objects))
	for _, obj := range objects {
		switch c, ok := obj.(*child); {
		case !ok || !c.annotated && !owner.Reaches(c.Namespace):
		case c.claim != nil:
			found.Unclaimed = append(found.Unclaimed, c.candidate())
		default:
			found.Items = append(found.Items, c.seen())
		}
	}
	d.eachOrphanOf(informer, ReachOf(owner), func(o schema.Candidate) { found.Orphans = append(found.Orphans, o) })
	return found
}

// All returns every cached object, or why they are not known.
func (d *Dependents) All() schema.Children {
	found, informer := d.look()
	if found.Unknown || informer == nil {
		return found
	}
	found.Version = versionOf(informer)
	for _, obj := range (*informer).GetStore().List() {
		if c, ok := obj.(*child); ok {
			found.Items = append(found.Items, c.seen())
		}
	}
	return found
}

// look returns the informer that knows the children (nil if nothing is watched), or why they are not known. The caller must read from
// that informer: if it ends meanwhile, the present one is missing, or has read nothing yet.
func (d *Dependents) look() (found schema.Children, informer *cache.SharedIndexInformer) {
	found.Resource, informer = d.Resource, d.informer.Load()
	if found.Unknown, found.Why, found.Absent = d.unknown(informer); found.Unknown {
		d.missed.Store(true) // before the look that counts, so that a change in between is not missed
		informer = d.informer.Load()
		found.Unknown, found.Why, found.Absent = d.unknown(informer)
	}
	return found, informer
}

func (d *Dependents) unknown(informer *cache.SharedIndexInformer) (unknown bool, why string, absent bool) {
	if d.Unwatched {
		return false, "", false
	}
	switch trouble := d.trouble.Load(); {
	case informer != nil && (*informer).HasSynced():
		return false, "", false
	case informer != nil && trouble != nil:
		return true, *trouble, false
	case informer == nil && d.absent.Load():
		return true, fmt.Sprintf("the API server does not serve %s of %s", d.Resource.Kind, d.Resource.APIVersion()), true
	}
	return true, "", false
}

// Known reports whether the children can be seen.
func (d *Dependents) Known() bool {
	unknown, _, _ := d.unknown(d.informer.Load())
	return !unknown
}

// Ready reports whether the children have been read, or need not be. While they are listed again they are not known; see Objects.Ready.
func (d *Dependents) Ready() bool {
	return d.Known() || d.read.Load() || d.Optional || d.absent.Load() || d.idle.Load()
}

// Settled reports whether the objects of a Read have been read once, or why not is known: they are not served, cannot be listed, or the
// API server does not say whether it serves them.
func (d *Dependents) Settled() bool {
	if d.read.Load() {
		return true
	}
	if informer := d.informer.Load(); informer != nil {
		return (*informer).HasSynced() || d.trouble.Load() != nil
	}
	return d.absent.Load() || d.silent.Load()
}

// Lost returns the labels that the selector requires and that a child of the owner does not have; "" if it is selected. It returns the
// whole selector if the labels of the owner's children do not satisfy it.
func (d *Dependents) Lost(owner *schema.Head, has map[string]string) string {
	selector, err := labels.Parse(d.Selector)
	if err != nil || selector.Matches(labels.Set(has)) { // a selector that cannot be parsed fails when the watch starts
		return ""
	}
	if d.Labels == nil {
		return d.Selector
	}
	own, lost := d.Labels(owner), labels.Set{}
	if !selector.Matches(labels.Merge(has, own)) {
		return d.Selector
	}
	asked, _ := selector.Requirements()
	for _, r := range asked {
		if value, ok := own[r.Key()]; ok && has[r.Key()] != value {
			lost[r.Key()] = value
		}
	}
	return lost.String()
}

// Version returns the resourceVersion that the cache has reached; "" if nothing is watched.
func (d *Dependents) Version() string {
	if informer := d.informer.Load(); informer != nil {
		return versionOf(informer)
	}
	return ""
}

func versionOf(informer *cache.SharedIndexInformer) string {
	return (*informer).GetStore().LastStoreSyncResourceVersion()
}
