package cache

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/serve"
	"stoic/convert"
	"stoic/schema"
)

// Objects are the custom resources of one watch, converted when received, for as long as the API server serves them.
type Objects struct {
	*availability
	resource  schema.Resource
	namespace string
	unless    []schema.Resource
	convert   func(*unstructured.Unstructured) *convert.Result
	client    dynamic.Interface
	discovery *Discovery
	panics    *authorPanics
	handlers  Handlers
	// accepted and rejected count conversions.
	accepted, rejected prometheus.Counter

	// informer is the one that runs now, or nil while the resource is not served.
	informer atomic.Pointer[cache.SharedIndexInformer]
	// statusless: the CRD has no status subresource.
	statusless atomic.Bool
}

// Handlers are called on the goroutine of an informer: they may neither block nor panic.
type Handlers struct {
	Added   func(*convert.Result)
	Updated func(before, after *convert.Result)
	Deleted func(*convert.Result)
	// Replaced is called when all objects are known after a time in which none was watched. Objects that are not present were deleted
	// meanwhile.
	Replaced func(present map[types.UID]bool)
	// StatusServed is called when a CRD that had no status subresource gets one.
	StatusServed func()
}

// Source is where objects are read.
type Source struct {
	Client    dynamic.Interface
	Discovery *Discovery
	Namespace string // "" is all
	Metrics   *serve.Metrics
	Log       *zap.Logger
	// Label names the kind of the objects in metrics; "" is the kind itself. Unless: see watch.Watch.
	Label  string
	Unless []schema.Resource
}

// NewObjects makes the cache; it watches nothing until Serve is called. If the converter panics, or returns nothing, the object is
// rejected.
func NewObjects(from Source, r schema.Resource, converter func(*unstructured.Unstructured) *convert.Result, h Handlers) *Objects {
	label := cmp.Or(from.Label, r.Kind)
	o := &Objects{availability: newAvailability(label, true, from.Log.With(zap.String("apiVersion", r.APIVersion())), from.Metrics), unless: from.Unless, resource: r, namespace: from.Namespace,
		convert: converter, client: from.Client, discovery: from.Discovery, handlers: h}
	o.contested = len(from.Unless) > 0
	o.accepted, o.rejected = from.Metrics.Conversions.WithLabelValues(label, "accepted"), from.Metrics.Conversions.WithLabelValues(label, "rejected")
	o.panics = newAuthorPanics(o.log, from.Metrics.ConverterPanics.WithLabelValues(label))
	if r.Cluster {
		o.namespace = ""
	}
	o.served, o.watch = o.isServed, o.observe
	return o
}

// Serve watches whenever the resource is served, until ctx ends.
func (o *Objects) Serve(ctx context.Context) {
	o.run(ctx, func() { o.replaced(nil) })
}

func (o *Objects) isServed(ctx context.Context) (bool, error) {
	served, status, err := asks(ctx, o.discovery, o.resource)
	if err != nil || !served {
		return false, err
	}
	for _, other := range o.unless {
		taken, _, err := asks(ctx, o.discovery, other)
		if err != nil {
			return false, err
		}
		if taken {
			if !o.yields.Swap(true) {
				o.log.Warn("the API server serves another version of this kind, too, and objects are served in that one", zap.String("served", other.APIVersion()))
			}
			return false, nil
		}
	}
	o.yields.Store(false)
	o.lacking.Store(!status)
	if was := o.statusless.Swap(!status); was && status {
		o.handlers.StatusServed()
	}
	return true, nil
}

// observe runs one informer until ctx ends.
func (o *Objects) observe(ctx context.Context, report func(error)) {
	informer := newInformer(o.client, o.resource, o.namespace, "", report, o.transform, cache.Indexers{})
	// Neither call can fail before the informer runs.
	_ = informer.SetWatchErrorHandlerWithContext(reportStart(report))
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: o.added, UpdateFunc: o.updated, DeleteFunc: o.deleted})
	o.size.empty()
	o.informer.Store(&informer)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			o.replaced(present(informer.GetStore()))
		}
	}()
	informer.RunWithContext(ctx)
	o.read.Store(o.read.Load() || informer.HasSynced())
	o.informer.Store(nil)
	o.size.empty()
}

// replaced drops what is kept of objects that were deleted while none was watched.
func (o *Objects) replaced(present map[types.UID]bool) {
	o.panics.forgetAll(func(uid types.UID) bool { return !present[uid] })
	o.handlers.Replaced(present)
}

func present(store cache.Store) map[types.UID]bool {
	uids := map[types.UID]bool{}
	for _, obj := range store.List() {
		if result, ok := obj.(*convert.Result); ok {
			uids[result.Meta.UID] = true
		}
	}
	return uids
}

func (o *Objects) added(obj any) {
	o.size.add(1)
	if result, ok := obj.(*convert.Result); ok {
		o.handlers.Added(result)
	}
}

func (o *Objects) updated(before, after any) {
	was, ok1 := before.(*convert.Result)
	is, ok2 := after.(*convert.Result)
	if ok1 && ok2 {
		o.handlers.Updated(was, is)
	}
}

func (o *Objects) deleted(obj any) {
	o.size.add(-1)
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if result, ok := obj.(*convert.Result); ok {
		o.panics.forget(result.Meta.UID)
		o.handlers.Deleted(result)
	}
}

// Get returns the object of a key, or nil.
func (o *Objects) Get(key string) *convert.Result {
	informer := o.informer.Load()
	if informer == nil {
		return nil
	}
	if o.resource.Cluster {
		key = key[1:] // the store has no empty namespace in its keys
	}
	obj, _, err := (*informer).GetStore().GetByKey(key)
	if err != nil {
		return nil // no store of client-go fails
	}
	result, _ := obj.(*convert.Result)
	return result
}

// Each calls do for every object.
func (o *Objects) Each(do func(*convert.Result)) {
	if informer := o.informer.Load(); informer != nil {
		for _, obj := range (*informer).GetStore().List() {
			if result, ok := obj.(*convert.Result); ok {
				do(result)
			}
		}
	}
}

// All yields the objects, or none until all have been read.
func (o *Objects) All(yield func(*convert.Result) bool) {
	informer := o.informer.Load()
	if informer == nil || !(*informer).HasSynced() {
		return
	}
	for _, obj := range (*informer).GetStore().List() {
		if result, ok := obj.(*convert.Result); ok && !yield(result) {
			return
		}
	}
}

// IsGone reports whether an object no longer exists. It returns false until an informer has listed all objects.
func (o *Objects) IsGone(key string, uid types.UID) bool {
	informer := o.informer.Load()
	if informer == nil || !(*informer).HasSynced() {
		return false
	}
	now := o.Get(key)
	return now == nil || now.Meta.UID != uid
}

// Served reports whether the objects are watched. known is false until the API server has said that it does not serve them, or an
// informer runs.
func (o *Objects) Served() (served, known bool) {
	served = o.informer.Load() != nil
	return served, served || o.absent.Load()
}

// Version returns the resourceVersion that the cache has reached; "" if nothing is watched.
func (o *Objects) Version() string {
	if informer := o.informer.Load(); informer != nil {
		return (*informer).GetStore().LastStoreSyncResourceVersion()
	}
	return ""
}

// Ready reports whether the objects have been read, or none is served. While they are listed again, as after the history of a watch has
// expired, they are not known, but only for a while, as with a watch that lags.
func (o *Objects) Ready() bool {
	if informer := o.informer.Load(); informer != nil {
		return o.read.Load() || (*informer).HasSynced()
	}
	return o.read.Load() || o.absent.Load()
}

// HasStatus reports whether the CRD has a status subresource.
func (o *Objects) HasStatus() bool { return !o.statusless.Load() }

// Read reads one object from the API server instead of from the cache.
func (o *Objects) Read(ctx context.Context, namespace, name string) (*convert.Result, error) {
	raw, err := o.client.Resource(gvr(o.resource)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", o.resource.Kind, namespace, name, err)
	}
	return o.converted(raw), nil
}

// transform is the informer's transform. Its contract is strict because of what client-go does with its results:
//
//	it returns                   client-go                                        so it
//	an error                     never syncs the informer                         returns nil, always
//	nil, no metadata             drops the whole initial list without an error    always returns metadata
//	(it panics)                  ends the process                                 recovers
//	its own output is passed in  a streamed list goes through it twice            passes it on
func (o *Objects) transform(obj any) (any, error) {
	raw, ok := obj.(*unstructured.Unstructured)
	if !ok {
		if _, ok := obj.(metav1.ObjectMetaAccessor); ok {
			return obj, nil
		}
		return unreadable(o.resource, nil, fmt.Sprintf("an object of type %T", obj)), nil
	}
	return o.converted(raw), nil
}

// converted returns the result of the converter, or a rejection of an object that the converter fails on.
func (o *Objects) converted(raw *unstructured.Unstructured) (found *convert.Result) {
	defer func() {
		if p := recover(); p != nil {
			cause := convert.NewPanic(p)
			found = unreadable(o.resource, raw, "an object that the converter failed on: "+cause.Cause)
			found.Panic = cause
		}
		o.panics.note(found)
		if found.Rejection == nil {
			o.accepted.Inc()
		} else {
			o.rejected.Inc()
		}
	}()
	if found = o.convert(raw); found != nil && found.Head != nil {
		return found.Brief()
	}
	return unreadable(o.resource, raw, "an object that the converter had no answer for")
}

// unreadable returns the result for an object on which the converter itself failed. The defect is the operator's, and an event says so to
// the user. The object keeps its name so that it hides no other.
func unreadable(r schema.Resource, raw *unstructured.Unstructured, found string) *convert.Result {
	head := &schema.Head{Resource: r}
	if raw != nil && raw.Object != nil {
		if meta, ok := raw.Object["metadata"].(map[string]any); ok {
			head.Meta.Name, head.Meta.Namespace = textOf(meta, "name"), textOf(meta, "namespace")
			head.Meta.UID, head.Meta.ResourceVersion = types.UID(textOf(meta, "uid")), textOf(meta, "resourceVersion")
			head.Meta.Generation, _ = meta["generation"].(int64)
		}
	}
	return &convert.Result{Head: head, Rejection: &schema.Rejection{Problems: []schema.Problem{{
		Code: schema.InvalidValue, Path: "spec", Found: found, Want: "be readable",
		Hint: "this is a defect of the operator; please report it",
	}}}}
}

// textOf returns a field; "" if it is not a string.
func textOf(object map[string]any, field string) string {
	text, _ := object[field].(string)
	return text
}
