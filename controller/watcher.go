package controller

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/apply"
	"stoic/controller/cache"
	"stoic/controller/consistency"
	"stoic/controller/queue"
	"stoic/controller/serve"
	"stoic/convert"
	"stoic/schema"
)

// watcher serves one Watch: it enqueues the keys of objects that changed, or whose children changed, and reconciles them. Watches are
// independent: a CRD that is missing, late, deleted or recreated shows in a gauge and a log line only.
type watcher struct {
	*Controller
	Watch
	log        *zap.Logger
	queue      workqueue.TypedDelayingInterface[string]
	failures   workqueue.TypedRateLimiter[string]
	objects    *cache.Objects
	dependents []*cache.Dependents // in the order of Watch.Owns
	versions   []func() string     // how far their caches have come
	reads      []*cache.Dependents // in the order of Watch.Reads
	store      *consistency.Store
	applier    *apply.Applier
	counts     *serve.Reconciles
	// running holds, by key, when each running reconcile began; ahead holds what was read ahead of the cache: see settleAhead.
	running, ahead sync.Map
}

// reconcileTimeout ends a reconcile that hangs.
const reconcileTimeout = 2 * time.Minute

func newWatcher(c *Controller, w Watch) *watcher {
	o := c.options
	r := &watcher{Controller: c, Watch: w, log: o.Log.With(zap.String("kind", w.Resource.Kind)), store: consistency.NewStore(o.Now),
		// There is no global bucket: the errors of one object never delay another.
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[string](apply.FirstBackOff, apply.LastRefused),
		counts:   c.metrics.Reconciles(w.Name, w.Label, o.Workers)}
	r.queue = queue.New(queue.Options{Name: w.Name, Metrics: c.metrics.Queues, Begun: r.begun, Starting: startingOf(o.Workers)})
	source := c.source
	source.Label, source.Unless = w.Label, w.Unless
	r.objects = cache.NewObjects(source, w.Resource, w.Convert, cache.Handlers{Added: r.enqueue, Updated: r.updated, Deleted: r.deleted,
		Replaced: r.replaced, StatusServed: r.enqueueAll})
	for _, owned := range w.Owns {
		d := c.dependentsOf(owned)
		r.dependents, r.versions = append(r.dependents, d), append(r.versions, d.Version)
	}
	for _, read := range w.Reads {
		r.reads = append(r.reads, c.readsOf(read))
	}
	pruned := func(lost bool) {
		value := 0.0
		if lost {
			value = 1
		}
		c.metrics.Pruned.WithLabelValues(w.Label).Set(value)
	}
	r.applier = apply.New(apply.Options{Resource: w.Resource, Noun: w.Noun, Reasons: w.Reasons, FailedReason: w.FailedReason,
		Count: r.count, Pruned: pruned, API: c.api, Objects: r.objects, Dependents: r.dependents, Store: r.store,
		Events: c.emitter, Limiter: c.limiter, Failures: r.failures.NumRequeues, Now: o.Now, Log: r.log})
	if w.Cached != nil {
		w.Cached(func(yield func(*convert.Result) bool) {
			if r.mayWrite() {
				r.objects.All(yield)
			}
		})
	}
	return r
}

// hangs reports whether a reconcile has been running for far longer than it may.
func (r *watcher) hangs() bool {
	hangs := false
	r.running.Range(func(_, began any) bool {
		at, ok := began.(time.Time)
		hangs = ok && time.Since(at) > 2*reconcileTimeout
		return !hangs
	})
	return hangs
}

// The handlers only enqueue keys: they run on the informer's goroutine and may neither block nor panic.

func (r *watcher) updated(before, after *convert.Result) {
	if before.Meta.UID != after.Meta.UID {
		r.forget(before.Meta.UID) // deleted and recreated between two lists: there is no event for the end of the first
	}
	switch same := before.Meta.ResourceVersion == after.Meta.ResourceVersion; {
	case same && before.SameContent(after):
		return // a relist
	case !same && r.store.IsOwnEcho(after.Meta.UID, after.Meta.ResourceVersion):
		return // the event of our own write
	}
	r.enqueue(after)
	r.yielded(before, after)
}

func (r *watcher) deleted(last *convert.Result) {
	r.forget(last.Meta.UID)
	r.yielded(last, nil)
	r.enqueue(last) // an object of the same name may be there already
}

// replaced forgets the objects that were deleted while no informer ran. What is known of the others still holds, and the caches of their
// children may still be behind it. What the deleted objects claimed may have a claimant of another watch, for which there is no event;
// claimants of this watch are enqueued as they are listed.
func (r *watcher) replaced(present map[types.UID]bool) {
	gone := func(uid types.UID) bool { return !present[uid] }
	r.store.ForgetAll(gone)
	r.applier.ForgetAll(gone)
	for _, d := range r.dependents {
		if r.isShared(d) {
			r.wakeOrphans(d, "")
		}
	}
}

func (r *watcher) enqueue(changed *convert.Result) {
	if r.mayWrite() {
		r.queue.Add(changed.Key())
	}
}

// enqueueAll enqueues all cached objects, as none was enqueued while this process might not write. An object that is not cached yet still
// has its event to come.
func (r *watcher) enqueueAll() { r.objects.Each(r.enqueue) }

// begun reports whether the object of a key goes before others in the queue: it has a status, recorded or just written. Otherwise, of a
// thousand jobs created together, each would return to the end of the queue, and the first jobs would end before their status says that
// they run.
func (r *watcher) begun(key string) bool {
	result := r.objects.Get(key)
	if result == nil {
		return false
	}
	written, _ := r.store.Written(result.Meta.UID)
	return !written.IsZero() || result.Begun
}

// startingOf returns how many of the workers may begin new objects at the same time. The others are reserved for objects that have begun:
// their status would otherwise wait, for seconds, until the many children of a new object are created.
func startingOf(workers int) int { return workers - workers/4 }

// forget drops all that is kept in memory for an object.
func (r *watcher) forget(uid types.UID) {
	r.store.Forget(uid)
	r.applier.Forget(uid)
}

// work reconciles one key at a time until leading ends. A reconcile that has begun is finished. A queue hands out its remaining keys even
// after it was shut down; they are left to the next process.
func (r *watcher) work(leading, writing context.Context) {
	for {
		key, stopped := r.queue.Get()
		if stopped {
			return
		}
		if leading.Err() == nil {
			ctx, failures := serve.WithFailures(writing)
			requeue, err := r.guarded(ctx, key)
			r.requeue(key, requeue, err, failures.AuditIDs()...)
		}
		r.queue.Done(key)
	}
}

// guarded runs one reconcile. A panic in it is a defect of ours and disturbs no other key.
func (r *watcher) guarded(ctx context.Context, key string) (requeue time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	began := time.Now()
	r.running.Store(key, began)
	defer r.running.Delete(key)
	r.counts.Begin()
	defer func() { r.counts.End(time.Since(began), outcomeOf(requeue, err)) }()
	defer func() {
		if p := recover(); p != nil {
			err = &apply.PanicError{Value: p, Stack: debug.Stack()}
		}
		var panicked *apply.PanicError
		if errors.As(err, &panicked) {
			r.metrics.Panics.Inc()
			r.log.Error("a reconcile panicked", zap.String("object", key), zap.Any("panic", panicked.Value), zap.ByteString("stack", panicked.Stack))
		}
	}()
	return r.reconcile(ctx, key)
}

// count calls Watch.Count. It recovers from a panic, which then loses a number only: Count runs between the writes of a plan, and in the
// goroutines that send events, where a panic would end the process.
func (r *watcher) count(head *schema.Head, counted schema.Count) {
	if r.Count == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			r.metrics.Panics.Inc()
			r.log.Error("the watch's Count panicked; what it was to count is not counted", zap.String("object", head.Key()),
				zap.String("counter", counted.Counter), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
		}
	}()
	r.Count(head, counted)
}

// outcomeOf returns the outcome of a reconcile for the metrics.
func outcomeOf(requeue time.Duration, err error) serve.Outcome {
	switch class := apply.ClassOf(err); {
	case errors.Is(err, apply.ErrPanicked):
		return serve.Panicked
	case class == apply.Refused:
		return serve.Refused
	case class == apply.Retry && apply.IsDenied(err):
		return serve.Denied
	case class == apply.Retry:
		return serve.Retry
	case class == apply.Behind || requeue > 0:
		return serve.Later
	}
	return serve.Succeeded
}

// requeue is the one place where errors are acted on: retry, come back later, or be done. Whatever failed, the time at which the plan is
// to be looked at again holds: a deadline does not wait for a back-off. The log has the audit IDs of the requests that failed during the
// reconcile.
func (r *watcher) requeue(key string, after time.Duration, err error, auditIDs ...string) {
	switch apply.ClassOf(err) {
	case apply.Done:
		r.failures.Forget(key)
	case apply.Behind:
		after = apply.RequeueFallback // no success: the failures so far still count
	case apply.Retry:
		backOff := min(r.failures.When(key), apply.LongestBackOff(err))
		r.log.Info("retrying", zap.String("object", key), zap.Int("failures", r.failures.NumRequeues(key)), zap.Duration("in", backOff), zap.Strings("auditIDs", auditIDs), zap.Error(err))
		after = sooner(after, backOff)
	case apply.Refused:
		backOff := max(r.failures.When(key), apply.FirstRefused)
		r.log.Warn("refused by the API server; looking again later", zap.String("object", key), zap.Duration("in", backOff), zap.Strings("auditIDs", auditIDs), zap.Error(err))
		after = sooner(after, backOff)
	}
	if after > 0 {
		r.queue.AddAfter(key, min(after, longestRequeue))
	}
}

// longestRequeue bounds how long a plan waits. Timers do not follow a clock that is set to another time, nor the sleep of a machine, so a
// plan that waits for a time of day, or for a year, is decided again this often.
const longestRequeue = 10 * time.Minute

// shortestRequeue bounds how often an object is reconciled whose plans ask for the next reconcile at once and do nothing in between.
const shortestRequeue = 100 * time.Millisecond

// requeueOf returns when a plan is to be looked at again; 0 means never. A time that is over is no reason to forget the object: a deadline
// may pass while Decide runs. A plan that writes dependents may ask for the rest of them at once.
func requeueOf(p *Plan) time.Duration {
	if writes := len(p.Create)+len(p.Patch)+len(p.Delete) > 0; p.Requeue < 0 || p.Requeue > 0 && !writes {
		return max(p.Requeue, shortestRequeue)
	}
	return p.Requeue
}

// sooner returns the earlier of the plan's requeue and the back-off. A requeue within 10 ms names no time: it is for the rest of a plan
// that was too long for one reconcile. After an error that rest waits for the back-off.
func sooner(wish, backOff time.Duration) time.Duration {
	if wish > 10*time.Millisecond {
		return min(wish, backOff)
	}
	return backOff
}
