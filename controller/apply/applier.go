package apply

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/cache"
	"stoic/controller/consistency"
	"stoic/controller/events"
	"stoic/controller/watch"
	"stoic/schema"
)

// Applier carries out the plans of one watch.
type Applier struct {
	Options
	pruning     *statusPruning
	negative    *negativeCache
	refusals    *refusals
	terminating *terminating
	costly      *costly
	cautious    *cautious
	// keepsGeneration: the API server kept status.observedGeneration of the last status that had it. Until such a status is written, an
	// object that has the field proves the same. An object without it is not written just to add it: after a restart under a CRD that
	// prunes it, nothing must be written.
	keepsGeneration atomic.Bool
	// pruned are the fields that the last log line about pruning named.
	pruned atomic.Pointer[[]string]
}

// Options are those of an Applier. All fields are required, except those that say what nil means.
type Options struct {
	Resource schema.Resource
	// Noun is what events call the objects; Reasons are those of the events about their deletion. FailedReason is the reason of events
	// that have no other.
	Noun         string
	Reasons      watch.Reasons
	FailedReason string
	// Count is called when something that a plan counts is written; nil: nothing is counted.
	Count func(*schema.Head, schema.Count)
	// Pruned is called after each status write, with whether the API server has lost a field of it; nil: it is not reported.
	Pruned func(bool)

	API        *API
	Objects    *cache.Objects
	Dependents []*cache.Dependents
	Store      *consistency.Store
	Events     *events.Emitter
	Limiter    *Limiter
	// Failures is how many reconciles of a key have failed in a row.
	Failures func(key string) int
	Now      func() time.Time
	Log      *zap.Logger
}

// New makes an Applier; it sends no request.
func New(o Options) *Applier {
	return &Applier{Options: o, pruning: newStatusPruning(), negative: newNegativeCache(), refusals: newRefusals(o.Now),
		terminating: newTerminating(o.Now), costly: newCostly(o.Now), cautious: newCautious(o.Now)}
}

const (
	// RequeueNow is for a reconcile that is to decide again immediately.
	RequeueNow = time.Millisecond
	// RequeueFallback queues a reconcile that waits for its caches even if the event never arrives.
	RequeueFallback = time.Second
)

// KeepsGeneration reports whether the API server keeps status.observedGeneration of this object.
func (a *Applier) KeepsGeneration(head *schema.Head) bool {
	return head.ObservedGeneration != 0 || a.keepsGeneration.Load()
}

// Apply writes a plan, in the order of its fields; see schema.Plan. Each step requires that the steps before it are on record. It returns
// when to look again.
func (a *Applier) Apply(ctx context.Context, seen *schema.Observed, plan schema.Plan) (requeue time.Duration, err error) {
	a.Store.SetPending(seen.Head.Meta.UID, plan.Pending)
	a.negative.expire(seen.Head.Meta.UID, a.Now())
	at, err := a.record(ctx, seen, plan)
	if err != nil {
		return 0, err
	}
	at, unrecorded := a.annotate(ctx, seen.Head, at, plan)
	switch {
	case unrecorded == nil:
	case isOutdated(unrecorded):
		return 0, unrecorded
	case plan.Annotate.BestEffort && isForAuthor(unrecorded):
		// The plan does without it.
	default:
		plan.Delete, plan.RemoveFinalizers = nil, nil // a child that is gone proves nothing any more
	}
	requeue = plan.Requeue
	if !a.Events.Emit(seen.Head, plan.Events) {
		requeue = Earlier(requeue, events.RequeueForEvents)
	}
	waits := false // something of the plan is left to a later reconcile
	if wait := a.waitToCreate(seen.Head); wait > 0 && len(plan.Create) > 0 {
		plan.Create, requeue, waits = nil, Earlier(requeue, wait), true
	}
	if len(plan.Delete)+len(plan.Patch)+len(plan.Create) > 0 || releases(seen.Head, plan) {
		if current, err := a.verifyFresh(ctx, seen, at.version != seen.Head.Meta.ResourceVersion, plan); err != nil || !current {
			return RequeueNow, errors.Join(unrecorded, err)
		}
		if a.requireFollowed(seen, plan) {
			return requeue, errors.Join(unrecorded, ErrBehind)
		}
	}
	again, refused, failed := a.children(ctx, seen, at.version, plan)
	if len(plan.RemoveFinalizers) > 0 && failed == nil && !waits && !refused {
		failed = a.finalize(ctx, seen.Head, at, plan)
	}
	return Earlier(requeue, again), errors.Join(unrecorded, failed)
}

// waitToCreate returns for how long nothing is created for an object; 0 if creations are allowed.
func (a *Applier) waitToCreate(head *schema.Head) time.Duration {
	return max(a.terminating.wait(head.Meta.UID), a.costly.wait(head))
}

// releases reports whether a plan removes a finalizer that the object has.
func releases(head *schema.Head, plan schema.Plan) bool {
	return slices.ContainsFunc(plan.RemoveFinalizers, func(f string) bool { return slices.Contains(head.Meta.Finalizers, f) })
}

// children deletes, patches and creates. refused: a write was left out because the same one was refused recently.
func (a *Applier) children(ctx context.Context, seen *schema.Observed, version string, plan schema.Plan) (requeue time.Duration, refused bool, _ error) {
	head := seen.Head
	removed := a.remove(ctx, head, plan, version)
	patches, stale := a.mayAdopt(ctx, head, version, plan.Patch)
	patchAgain, patched := a.patch(ctx, head, patches)
	// Objects of optional resources come first. One that is refused keeps no other from being created, as the plan says what waits for
	// it. It cannot say so of an unwatched resource: if an object of one is missing, the required ones wait.
	optional, required := a.partition(plan.Create)
	tried, missing, createAgain, made := a.createOptional(ctx, seen, optional, len(required) > 0)
	if missing {
		required = nil
	}
	requeue = Earlier(patchAgain, createAgain)
	refused = requeue > 0
	_, err := a.create(ctx, seen, required)
	if len(required) > 0 && a.costly.note(head, err) {
		a.Events.Emit(head, []schema.Event{a.unanswered(err, occasion(head))})
	}
	created := errors.Join(made, err)
	if len(plan.Create) > 0 {
		requeue = Earlier(requeue, a.waitToCreate(head))
	}
	if tried+len(required) > 0 && created == nil || len(plan.Delete) > 0 {
		// What was created may be deleted before an interrupted watch shows it, and what was deleted may never have been shown: then
		// there is no event. The requeued reconcile waits until the caches have seen what was done.
		requeue = Earlier(requeue, RequeueFallback)
	}
	return requeue, refused, errors.Join(removed, stale, patched, created)
}

// atVersion returns the deletions of a plan. One of the object itself names the version that the object has after what the same plan
// wrote to it.
func atVersion(deletions []schema.Deletion, head *schema.Head, version string) []schema.Deletion {
	deletions = slices.Clone(deletions) // a plan is not changed
	for i, d := range deletions {
		if version != "" && d.UID == head.Meta.UID && d.ResourceVersion == head.Meta.ResourceVersion {
			deletions[i].ResourceVersion = version
		}
	}
	return deletions
}

// dependents returns the cache of a resource; nil if the watch does not name the resource.
func (a *Applier) dependents(r schema.Resource) *cache.Dependents {
	if i := a.child(r); i >= 0 {
		return a.Dependents[i]
	}
	return nil
}

// child returns the index of a resource among the dependents, or -1.
func (a *Applier) child(r schema.Resource) int {
	return slices.IndexFunc(a.Dependents, func(d *cache.Dependents) bool { return d.Resource == r })
}

// isOptional reports whether no object of a resource counts among the children that an object must have. That holds for an unwatched
// resource, too: none of its objects is ever seen.
func (a *Applier) isOptional(r schema.Resource) bool {
	d := a.dependents(r)
	return d == nil || d.Optional || d.Unwatched
}

// Forget drops all that is kept in memory for an object.
func (a *Applier) Forget(uid types.UID) {
	for _, m := range a.memories() {
		m.forget(uid)
	}
}

// ForgetAll drops what is kept for the objects that gone selects.
func (a *Applier) ForgetAll(gone func(types.UID) bool) {
	for _, m := range a.memories() {
		m.forgetAll(gone)
	}
}

func (a *Applier) memories() []forgetter {
	return []forgetter{a.pruning, a.negative, a.refusals, a.terminating, a.costly}
}

// Earlier returns the earlier of two requeue times; 0 is none.
func Earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
