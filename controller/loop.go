package controller

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"stoic/convert"
	"stoic/schema"
)

// kindLoop serves one kind: it watches its objects for as long as the API server serves them and runs the
// passes. Kinds know nothing of each other: one whose CRD is missing, late, deleted or made anew is a gauge and
// a log line.
type kindLoop struct {
	*Controller
	*presence
	Watched
	kind      *schema.Kind
	log       *zap.Logger
	queue     workqueue.TypedDelayingInterface[string]
	failures  workqueue.TypedRateLimiter[string]
	untyped   dynamic.Interface
	discovery discovery.ServerResourcesInterfaceWithContext
	floors    *floors
	pruned    *prunedWrites
	extras    []*extraWatch // of the objects that jobs of the kind may ask for

	// objects is the informer that runs now, or nil while the kind is not served.
	objects atomic.Pointer[cache.SharedIndexInformer]
	// statusless: the CRD has no status subresource.
	statusless atomic.Bool
	// running holds when each pass that runs now began, by key.
	running sync.Map
	// keepsGeneration: the last answer to a status write had status.observedGeneration in it. Until there is one, an
	// object that has it proves the same, and one that has not is not written to for its sake: a restart under a CRD
	// that prunes it must not write anything.
	keepsGeneration atomic.Bool
}

const (
	// retryFirst is where the exponential back-off of one key begins; see longest for its end. There is no
	// global bucket: one job's errors never delay another's.
	retryFirst = 50 * time.Millisecond
	// passLimit ends a pass that hangs.
	passLimit = 2 * time.Minute
	// safetyNet wakes a pass that waits for its caches even if the event never comes.
	safetyNet = time.Second
)

func newKindLoop(c *Controller, w Watched, untyped dynamic.Interface, d discovery.DiscoveryInterface) *kindLoop {
	l := &kindLoop{
		Controller: c, presence: newPresence(c, w.Kind.Name), Watched: w, kind: w.Kind,
		untyped: untyped, discovery: discovery.ToServerResourcesInterfaceWithContext(d), floors: newFloors(c.options.Now), pruned: newPrunedWrites(),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[string](retryFirst, slowProbe),
	}
	l.queue = newQueue(w.Kind.Controller, c.metrics.queues, l.place)
	l.log, l.served, l.watch = l.presence.log, l.servedNow, l.observing
	return l
}

// serve watches the kind whenever it is served, until ctx ends.
func (l *kindLoop) serve(ctx context.Context) {
	l.keep(ctx, func() {
		if l.looked.Load() { // the API server has said so, and nothing of the kind is left
			l.retain(cache.NewStore(cache.MetaNamespaceKeyFunc))
		}
	})
}

// servedNow asks the API server whether it serves the kind.
func (l *kindLoop) servedNow(ctx context.Context) (bool, error) {
	list, err := l.discovery.ServerResourcesForGroupVersionWithContext(ctx, l.kind.APIVersion())
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the resources of %s: %w", l.kind.APIVersion(), err)
	}
	named := func(name string) func(metav1.APIResource) bool {
		return func(r metav1.APIResource) bool { return r.Name == name }
	}
	lacking := !slices.ContainsFunc(list.APIResources, named(l.kind.Plural+"/status"))
	l.lacking.Store(lacking)
	if was := l.statusless.Swap(lacking); was && !lacking {
		l.enqueueAll() // what waits for a place to write to waits longer after each try
	}
	return slices.ContainsFunc(list.APIResources, named(l.kind.Plural)), nil
}

// observing runs one informer until ctx ends.
func (l *kindLoop) observing(ctx context.Context, doubt func(error)) {
	resource := runtimeschema.GroupVersionResource{Group: l.kind.Group, Version: l.kind.Version, Resource: l.kind.Plural}
	informer := untypedInformer(l.untyped, resource, l.options.Namespace, "", doubt, converting(l.kind, l.Convert), cache.Indexers{})
	// Neither call can fail before the informer runs.
	_ = informer.SetWatchErrorHandlerWithContext(doubting(doubt))
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: l.added, UpdateFunc: l.updated, DeleteFunc: l.deleted})
	l.objects.Store(&informer)
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			l.retain(informer.GetStore())
		}
	}()
	informer.RunWithContext(ctx)
	l.objects.Store(nil)
}

// retain forgets the objects that are not there any more: they went while no informer ran. What is known of the others
// still holds, and the caches of their children may still be behind it.
func (l *kindLoop) retain(store cache.Store) {
	there := map[types.UID]bool{}
	for _, obj := range store.List() {
		if result, ok := obj.(*convert.Result); ok {
			there[result.Meta.UID] = true
		}
	}
	gone := func(uid types.UID) bool { return !there[uid] }
	l.floors.forgetAll(gone)
	l.pruned.forgetAll(gone)
}

// ready says whether the kind's objects are known, or absent as a whole.
func (l *kindLoop) ready() bool {
	informer := l.objects.Load()
	if informer == nil {
		return l.looked.Load()
	}
	return (*informer).HasSynced()
}

// hangs says whether a pass has been running for far longer than it may.
func (l *kindLoop) hangs() bool {
	hangs := false
	l.running.Range(func(_, began any) bool {
		at, ok := began.(time.Time)
		hangs = ok && time.Since(at) > 2*passLimit
		return !hangs
	})
	return hangs
}

// The handlers only queue keys: they run on the informer's goroutine and may neither block nor panic.

func (l *kindLoop) added(obj any) { l.enqueue(obj) }

func (l *kindLoop) updated(before, after any) {
	was, ok1 := before.(*convert.Result)
	is, ok2 := after.(*convert.Result)
	if ok1 && ok2 && was.Meta.UID != is.Meta.UID {
		l.forget(was.Head) // deleted and made anew between two lists: there is no event for the end of the first
	}
	if ok1 && ok2 && (was.Meta.ResourceVersion == is.Meta.ResourceVersion || l.floors.own(is.Meta.UID, is.Meta.ResourceVersion)) {
		return // a relist, or the echo of our own status write
	}
	l.enqueue(after)
}

func (l *kindLoop) deleted(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if result, ok := obj.(*convert.Result); ok {
		l.forget(result.Head)
		l.enqueue(obj) // an object of the same name may be there already
	}
}

func (l *kindLoop) enqueue(obj any) {
	if object, ok := obj.(metav1.ObjectMetaAccessor); ok && l.leads() {
		meta := object.GetObjectMeta()
		l.queue.Add(meta.GetNamespace() + "/" + meta.GetName())
	}
}

// enqueueAll queues all that was not queued while this process might not write. Whatever the store does not hold yet
// has its event still to come.
func (l *kindLoop) enqueueAll() {
	if informer := l.objects.Load(); informer != nil {
		for _, obj := range (*informer).GetStore().List() {
			l.enqueue(obj)
		}
	}
}

// place of a key in the queue: jobs that have begun go ahead of those that have not. Of a thousand jobs that are asked for at
// once the first would have ended before anyone wrote that they run, if each came to the end of the queue again.
func (l *kindLoop) place(key string) string {
	result := l.result(key)
	if result == nil {
		return key
	}
	recorded, _ := l.floors.recorded(result.Meta.UID)
	if recorded.IsZero() && len(result.Status.Conditions) == 0 {
		return key
	}
	return result.Meta.Namespace + "/" + ahead + "/" + result.Meta.Name
}

// result returns what the cache holds under a key, or nil. The cache need not have synced: what it holds is true of
// that object, and an object that it does not hold yet is queued when it does.
func (l *kindLoop) result(key string) *convert.Result {
	informer := l.objects.Load()
	if informer == nil {
		return nil // the informer that comes queues every key
	}
	obj, _, _ := (*informer).GetStore().GetByKey(key)
	result, _ := obj.(*convert.Result)
	return result
}

// isGone says that an object is not there any more. While no informer has listed all, nobody knows; see retain.
func (l *kindLoop) isGone(key string, uid types.UID) bool {
	informer := l.objects.Load()
	if informer == nil || !(*informer).HasSynced() {
		return false
	}
	now := l.result(key)
	return now == nil || now.Meta.UID != uid
}

// version is how far the cache of the kind's objects has come.
func (l *kindLoop) version() string {
	informer := l.objects.Load()
	if informer == nil {
		return ""
	}
	return (*informer).GetStore().LastStoreSyncResourceVersion()
}

// work runs passes, one key at a time, until leading ends. A pass that has begun is finished; the keys that still
// wait then, which a queue hands out also after it was shut down, are left to the next process.
func (l *kindLoop) work(leading, writing context.Context) {
	for {
		key, stopped := l.queue.Get()
		if stopped {
			return
		}
		if leading.Err() == nil {
			again, err := l.guarded(writing, key)
			l.settle(key, again, err)
		}
		l.queue.Done(key)
	}
}

// guarded runs one pass; a panic in it is the fault of ours that no other key may feel.
func (l *kindLoop) guarded(ctx context.Context, key string) (again time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, passLimit)
	defer cancel()
	l.running.Store(key, time.Now())
	defer l.running.Delete(key)
	defer func() {
		if p := recover(); p != nil {
			l.metrics.panics.Inc()
			l.log.Error("a pass panicked", zap.String("job", key), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = errPanicked
		}
	}()
	return l.sync(ctx, key)
}

// settle is the one place where errors are sorted: retry, come back later, or be done. Whatever went wrong, the time
// at which the plan wants to look again holds: a deadline does not wait for a back-off.
func (l *kindLoop) settle(key string, again time.Duration, err error) {
	verdict := sortError(err)
	switch verdict {
	case done:
		l.failures.Forget(key)
	case behind:
		again = safetyNet // no success: the failures so far still count
	case retry:
		backOff := min(l.failures.When(key), longest(err))
		l.log.Info("retrying", zap.String("job", key), zap.Int("failures", l.failures.NumRequeues(key)), zap.Duration("in", backOff), zap.Error(err))
		again = sooner(again, backOff)
	case probe:
		backOff := max(l.failures.When(key), firstProbe)
		l.log.Warn("refused by the API server; looking again later", zap.String("job", key), zap.Duration("in", backOff), zap.Error(err))
		again = sooner(again, backOff)
	}
	if again > 0 {
		l.queue.AddAfter(key, again)
	}
}

// sooner is the earlier of the plan's wish and the back-off. A wish for the next moment is no time but the rest of a
// plan that was too long for one pass: after an error it waits like everything else.
func sooner(wish, backOff time.Duration) time.Duration {
	if wish > 10*time.Millisecond {
		return min(wish, backOff)
	}
	return backOff
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
