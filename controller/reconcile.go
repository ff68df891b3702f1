package controller

import (
	"context"
	"fmt"
	"iter"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/apply"
	"stoic/controller/consistency"
	"stoic/convert"
	"stoic/schema"
)

// reconcile observes one object, decides, and applies the plan.
func (r *watcher) reconcile(ctx context.Context, key string) (requeue time.Duration, err error) {
	requeue = r.settleAhead(key)
	result := r.objects.Get(key)
	if result == nil {
		return requeue, nil // gone; garbage collection does the rest
	}
	seen, err := r.observe(ctx, result)
	if err != nil {
		return requeue, err
	}
	live := r.store.IsLive(seen.Head.Meta.UID)
	plan := r.Decide(seen)
	plan.Requeue = requeueOf(&plan)
	if why := r.applier.Contradiction(plan); why != "" {
		return requeue, r.contradictory(seen.Head, why)
	}
	again, err := r.applier.Apply(ctx, &seen, plan)
	requeue = apply.Earlier(requeue, again)
	if live {
		requeue = apply.Earlier(requeue, consistency.Patience) // what the caches never showed has no event for its end either
	}
	if r.objects.IsGone(key, result.Meta.UID) {
		r.forget(result.Meta.UID) // deleted meanwhile: what this reconcile noted would stay forever
	}
	if seen.Head.Meta.UID != result.Meta.UID { // recreated, and read from the API server
		was, _ := r.ahead.Swap(key, readAhead{seen.Head.Meta.UID, seen.Head.Meta.ResourceVersion})
		if was, ok := was.(readAhead); ok && was.uid != seen.Head.Meta.UID {
			r.forget(was.uid)
		}
		requeue = apply.Earlier(requeue, r.settleAhead(key))
	}
	return requeue, err
}

// readAhead is an object that was read from the API server while the cache still showed another one under its key.
type readAhead struct {
	uid     types.UID
	version string
}

// settleAhead checks the object that was read ahead of the cache under a key. What is known of it is needed until the cache shows it. If
// the cache reaches its version without showing it, it is gone, perhaps without an event. Until then the key is requeued.
func (r *watcher) settleAhead(key string) (again time.Duration) {
	value, ok := r.ahead.Load(key)
	if !ok {
		return 0
	}
	object, _ := value.(readAhead)
	if !consistency.Reached(r.objects.Version(), object.version) {
		return consistency.Patience
	}
	r.ahead.Delete(key)
	if r.objects.IsGone(key, object.uid) {
		r.forget(object.uid)
	}
	return 0
}

// observe gathers what a decision may depend on, from the caches or from the API server (consistency.Store.IsLive). It returns ErrBehind
// if the caches are older than our own writes.
func (r *watcher) observe(ctx context.Context, result *convert.Result) (seen schema.Observed, err error) {
	owner := result.Meta.UID
	caches := r.store.Check(owner, r.objects.Version, r.versions)
	if caches == consistency.Fresh {
		if result = r.newest(result); result == nil {
			return seen, apply.ErrBehind // its deletion has an event, and what took its name another
		}
		seen = r.observed(result)
		for i, d := range r.dependents {
			seen.Children[i] = d.Of(result.Head)
			if seen.Children[i].Unknown && !d.Optional {
				return seen, r.unreadable(result.Head, seen.Children[i].Why)
			}
			r.claim(d, result, &seen.Children[i])
		}
		for i, d := range r.dependents {
			for _, owner := range childrenOf(&seen, d.Through) {
				seen.Children[i].Items = append(seen.Children[i].Items, d.OfChild(&owner)...)
			}
		}
		caches = r.store.CheckChildren(owner, uidsOf(&seen))
	}
	switch caches {
	case consistency.Behind:
		return seen, apply.ErrBehind
	case consistency.ReadLive:
		return r.observeLive(ctx, result)
	}
	return seen, nil
}

// newest returns what the cache holds of an object now, or nil if it no longer holds that object. The cache was found fresh after the
// object was looked up, so the looked-up state may be older than our own last write. A write decided on it would be refused with a
// conflict.
func (r *watcher) newest(looked *convert.Result) *convert.Result {
	now := r.objects.Get(looked.Key())
	if now == nil || now.Meta.UID != looked.Meta.UID {
		return nil
	}
	return now
}

// unreadable handles an object whose children cannot be read: nothing is decided, and an event says why. The reason is not
// known while the first list is outstanding; then there is no event.
func (r *watcher) unreadable(head *schema.Head, why string) error {
	if why == "" {
		return apply.ErrBehind
	}
	return r.nothingDone(head, "nothing is done: ", apply.ErrUnreadable, why)
}

// contradictory handles an object whose plan cannot be carried out.
func (r *watcher) contradictory(head *schema.Head, why string) error {
	return r.nothingDone(head, "nothing is done, by a defect of the operator: ", apply.ErrContradiction, why)
}

// nothingDone emits an event, once per generation, that says why nothing is done for an object, and returns the same as an error.
func (r *watcher) nothingDone(head *schema.Head, message string, kind error, why string) error {
	r.emitter.Emit(head, []schema.Event{{Type: corev1.EventTypeWarning, Reason: r.FailedReason,
		Message: schema.Clean(message+why, 1024), Occasion: fmt.Sprintf("generation %d", head.Meta.Generation)}})
	return fmt.Errorf("%w: %s", kind, why)
}

// childrenOf returns the children of several resources.
func childrenOf(seen *schema.Observed, of []schema.Resource) (all []schema.Child) {
	for _, r := range of {
		all = append(all, seen.Of(r)...)
	}
	return all
}

// uidsOf returns the UIDs of the children that are seen.
func uidsOf(seen *schema.Observed) iter.Seq[types.UID] {
	return func(yield func(types.UID) bool) {
		for i := range seen.Children {
			for j := range seen.Children[i].Items {
				if !yield(seen.Children[i].Items[j].UID) {
					return
				}
			}
		}
	}
}

// observeLive reads everything from the API server, for when the caches do not catch up.
func (r *watcher) observeLive(ctx context.Context, cached *convert.Result) (seen schema.Observed, err error) {
	r.log.Warn("the caches are behind; reading from the API server", zap.String("object", cached.Key()))
	r.metrics.LiveReads.WithLabelValues(r.Label).Inc()
	result, err := r.objects.Read(ctx, cached.Meta.Namespace, cached.Meta.Name)
	if err != nil {
		return seen, err
	}
	seen = r.observed(result)
	versions := make([]string, len(r.dependents))
	for _, indirect := range []bool{false, true} { // what is seen through a child is read when that child is known
		for i, d := range r.dependents {
			if len(d.Through) > 0 != indirect {
				continue
			}
			if seen.Children[i], versions[i], err = d.Read(ctx, result.Head, childrenOf(&seen, d.Through)...); err != nil {
				return seen, fmt.Errorf("read the children of %s: %w", cached.Key(), err)
			}
			r.claim(d, result, &seen.Children[i])
		}
	}
	r.store.Forget(cached.Meta.UID)
	r.store.ReadFromServer(result.Meta.UID, result.Meta.ResourceVersion, versions)
	return seen, nil
}

func (r *watcher) observed(result *convert.Result) schema.Observed {
	written, pending := r.store.Written(result.Meta.UID)
	reads := make([]schema.Children, len(r.reads))
	for i, d := range r.reads {
		reads[i] = d.All()
	}
	return schema.Observed{Reads: reads, Refused: r.applier.Refused(result.Meta.UID), Head: result.Head, Object: result.Object, Rejection: result.Rejection, Children: make([]schema.Children, len(r.dependents)),
		Now: r.options.Now(), WrittenAt: written, PendingSince: pending, KeepsGeneration: r.applier.KeepsGeneration(result.Head)}
}
