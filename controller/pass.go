package controller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/plan"
	"stoic/convert"
	"stoic/schema"
)

// sync is one pass over one object: observe, plan, execute.
func (l *kindLoop) sync(ctx context.Context, key string) (again time.Duration, err error) {
	result := l.result(key)
	if result == nil {
		return 0, nil // gone; garbage collection does the rest
	}
	seen, live, err := l.observe(ctx, result)
	if err != nil {
		return 0, err
	}
	todo := l.Plan(seen)
	again, err = l.execute(ctx, seen, todo)
	if live {
		again = earlier(again, patience) // of what the caches never showed they will not tell the end either
	}
	if l.isGone(key, result.Meta.UID) {
		l.forget(result.Head) // deleted meanwhile: what this pass noted would stay for ever
	}
	return again, err
}

// observe gathers what a decision may depend on. If the caches are older than our own writes it answers errBehind.
// Live says that it was read from the API server.
func (l *kindLoop) observe(ctx context.Context, result *convert.Result) (seen plan.Observed, live bool, err error) {
	owner := result.Meta.UID
	caches := l.floors.check(owner, l.version, l.children.podVersion, l.children.serviceVersion, l.extras...)
	if caches == freshEnough {
		seen = l.observeCaches(result)
		caches = l.floors.shows(owner, uids(&seen))
	}
	switch caches {
	case tooOld:
		return seen, false, errBehind
	case readLive:
		seen, err = l.observeLive(ctx, result)
		return seen, true, err
	}
	return seen, false, nil
}

func (l *kindLoop) observeCaches(result *convert.Result) plan.Observed {
	seen := l.observed(result)
	seen.Pods, seen.Services = l.children.of(result.Meta.Namespace, result.Meta.UID)
	for _, e := range l.extras {
		found, unseen := e.see(result.Meta.Namespace, result.Meta.UID)
		seen.Extras = append(seen.Extras, found...)
		if unseen != nil {
			seen.Unseen = append(seen.Unseen, *unseen)
		}
	}
	return seen
}

// uids of the children that are seen.
func uids(seen *plan.Observed) iter.Seq[types.UID] {
	return func(yield func(types.UID) bool) {
		for i := range seen.Pods {
			if !yield(seen.Pods[i].UID) {
				return
			}
		}
		for i := range seen.Services {
			if !yield(seen.Services[i].UID) {
				return
			}
		}
		for i := range seen.Extras {
			if !yield(seen.Extras[i].UID) {
				return
			}
		}
	}
}

// observeLive reads everything from the API server, for when the caches do not catch up.
func (l *kindLoop) observeLive(ctx context.Context, cached *convert.Result) (seen plan.Observed, err error) {
	l.log.Warn("the caches are behind; reading from the API server", zap.String("job", cached.Key()))
	l.metrics.liveReads.WithLabelValues(l.kind.Name).Inc()
	resource := runtimeschema.GroupVersionResource{Group: l.kind.Group, Version: l.kind.Version, Resource: l.kind.Plural}
	raw, err := l.untyped.Resource(resource).Namespace(cached.Meta.Namespace).Get(ctx, cached.Meta.Name, metav1.GetOptions{})
	if err != nil {
		return seen, fmt.Errorf("get %s: %w", cached.Key(), err)
	}
	result := converted(l.kind, l.Convert, raw)
	seen = l.observed(result)
	found, err := l.children.live(ctx, result.Meta.Namespace, result.Meta.Name, result.Meta.UID)
	seen.Pods, seen.Services = found.pods, found.services
	if err != nil {
		return seen, fmt.Errorf("read the children of %s: %w", cached.Key(), err)
	}
	for _, e := range l.extras {
		found, unseen, err := e.live(ctx, result.Meta.Namespace, result.Meta.Name, result.Meta.UID)
		if err != nil {
			return seen, fmt.Errorf("read the children of %s: %w", cached.Key(), err)
		}
		seen.Extras = append(seen.Extras, found...)
		if unseen != nil {
			seen.Unseen = append(seen.Unseen, *unseen)
		}
	}
	l.floors.forget(cached.Meta.UID)
	l.floors.live(result.Meta.UID, result.Meta.ResourceVersion, found.podVersion, found.serviceVersion)
	return seen, nil
}

func (l *kindLoop) observed(result *convert.Result) plan.Observed {
	recorded, pending := l.floors.recorded(result.Meta.UID)
	return plan.Observed{Head: result.Head, Job: result.Job, Rejection: result.Rejection,
		Now: l.options.Now(), Recorded: recorded, Pending: pending,
		KeepsGeneration: result.Status.ObservedGeneration != 0 || l.keepsGeneration.Load()}
}

// execute writes a plan: status, then ledger, then events, then deletions, updates and creations. Each depends
// on the ones before being on record; a crash between any two leaves a state from which the same plan follows again.
func (l *kindLoop) execute(ctx context.Context, seen plan.Observed, todo plan.Plan) (again time.Duration, err error) {
	l.floors.pend(seen.Head.Meta.UID, todo.Pending)
	version := seen.Head.Meta.ResourceVersion
	if todo.Status != nil {
		if version, err = l.record(ctx, seen.Head, todo); err != nil {
			l.tellUnrecorded(seen, todo, err)
			return 0, err
		}
	}
	var unentered error
	if todo.Ledger != nil {
		if unentered = l.enter(ctx, seen.Head, version, todo); unentered != nil && (todo.Ledger.Verdict == "" || !worthTelling(unentered)) {
			todo.Delete = nil // a pod that is gone cannot be counted any more
		}
	}
	again = todo.Recheck
	if !l.emitter.tell(seen.Head, todo.Events) {
		again = earlier(again, untoldAgain)
	}
	if len(todo.Delete)+len(todo.Update)+len(todo.Create) > 0 {
		if current, err := l.prove(ctx, seen.Head, len(seen.Pods)+len(seen.Services), version != seen.Head.Meta.ResourceVersion, len(todo.Create) > 0); err != nil || !current {
			return atOnceAgain, errors.Join(unentered, err)
		}
	}
	removed := l.remove(ctx, seen.Head, todo.Delete)
	updateAgain, updated := l.update(ctx, seen.Head, todo.Update)
	// Extra objects come first, and a job is not kept from its pods by one that is refused: the plan says what pods
	// wait for.
	extras, children := apart(todo.Create)
	tried, createAgain, made := l.createExtras(ctx, seen.Head, extras)
	again = earlier(again, earlier(updateAgain, createAgain))
	created := errors.Join(made, l.create(ctx, seen.Head, children))
	if tried+len(children) > 0 && created == nil || len(todo.Delete) > 0 {
		// What was created may be gone before a watch that was interrupted shows it, and what was deleted may never have
		// been shown: then there is no event. The pass that comes back waits until the caches have seen what was done.
		again = earlier(again, safetyNet)
	}
	return again, errors.Join(unentered, removed, updated, created)
}

// atOnceAgain is for a pass that is to be made anew.
const atOnceAgain = time.Millisecond

// prove that a decision was made on the present, before anything is done to other objects: once for each job in the life of a
// process, and again before something is made in the place of children that went. An API server may answer a new watch from a
// past in which the job was not yet finished, suspended or scaled, or in which its pods still ran; and a watch that lags shows
// a job that is deleted while the garbage collector takes its children. What is written to the job itself then is refused by
// its resourceVersion; its children have no such guard.
//
//	the job is                           and the caches of its children
//	new: nobody has worked on it         -                                 go on
//	gone, another, newer than seen       -                                 wait for the cache of the jobs
//	as seen, or just written             were as new as the job before     go on
//	as seen, or just written             are as new as the job             decide anew, on what they show now
//	as seen, or just written             are older: it may have finished   read everything from the API server
//	                                     because of what they do not show
//
// It says whether the decision at hand may be carried out.
func (l *kindLoop) prove(ctx context.Context, head *schema.Head, children int, written, makes bool) (current bool, err error) {
	uid, version := head.Meta.UID, head.Meta.ResourceVersion
	trusted := l.floors.trusted(uid)
	if lost := l.floors.lost(uid, children); trusted && (!lost || !makes) {
		return true, nil
	}
	if !trusted && written && len(head.Status.Conditions) == 0 {
		l.floors.trust(uid)
		return true, nil
	}
	if !written {
		if current, err := l.isAsSeen(ctx, head); err != nil || !current {
			return false, err
		}
	}
	l.floors.has(uid, children)
	if !trusted && reached(l.children.podVersion(), version) && reached(l.children.serviceVersion(), version) {
		l.floors.trust(uid)
	} else if !trusted {
		l.floors.distrust(uid, version)
	}
	return trusted, nil
}

// isAsSeen asks the API server whether a job is still what a decision was made for.
func (l *kindLoop) isAsSeen(ctx context.Context, head *schema.Head) (bool, error) {
	uid := head.Meta.UID
	got, err := l.api.get(ctx, head.Kind.Resource(), head.Meta.Namespace, head.Meta.Name)
	switch {
	case apierrors.IsNotFound(err):
		return false, fmt.Errorf("look at %s: %w", head.Key(), errUnrecorded)
	case err != nil:
		return false, fmt.Errorf("look at %s: %w", head.Key(), err)
	case got.UID != uid:
		return false, errBehind // the one that was seen is gone
	case got.ResourceVersion != head.Meta.ResourceVersion:
		l.floors.await(uid, got.ResourceVersion)
		return false, errBehind
	}
	return true, nil
}

// earlier of two wishes to look again; 0 is none.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// tellUnrecorded: the API server does not take the status, and will not. The author can still be told by events: of
// what the status would have said and, unless the object is rejected anyway, why nothing happens.
func (l *kindLoop) tellUnrecorded(seen plan.Observed, todo plan.Plan, err error) {
	if sortError(err) != probe && !errors.Is(err, errStatusless) {
		return
	}
	l.emitter.tell(seen.Head, todo.Events)
	if seen.Rejection == nil {
		l.emitter.tell(seen.Head, []plan.Event{{Type: corev1.EventTypeWarning, Reason: l.kind.Reason(schema.ReasonFailedValidation),
			Message: "Error recording the status: " + err.Error(), Occasion: occasion(seen.Head)}})
	}
}

// record writes the status and, when it is on record, counts and logs the transition. It returns the version of the
// object that has this status.
func (l *kindLoop) record(ctx context.Context, head *schema.Head, todo plan.Plan) (version string, err error) {
	if l.pruned.knows(head, todo.Status) {
		return head.Meta.ResourceVersion, nil // the server would not keep it this time either
	}
	version, kept, err := l.api.record(ctx, head, todo.Status)
	if apierrors.IsNotFound(err) {
		err = errUnrecorded // the cache will say so, and the retry finds nothing
		if l.statusless.Load() {
			err = errStatusless
		}
	}
	if err != nil {
		return "", fmt.Errorf("write the status of %s: %w", head.Key(), err)
	}
	l.floors.raise(head.Meta.UID, version, "", "")
	l.keepsGeneration.Store(kept != nil && kept.ObservedGeneration == todo.Status.ObservedGeneration)
	if l.pruned.note(head.Meta.UID, todo.Status, kept, version) {
		l.log.Warn("the schema of the CRD does not keep the status as written", zap.String("job", head.Key()))
	}
	for _, c := range todo.Count {
		if c.Counter != plan.CountDeleted && c.Counter != plan.CountRestarted { // which are counted when they are done
			l.metrics.count(head, c)
		}
	}
	if n := len(todo.Status.Conditions); n > 0 {
		last := todo.Status.Conditions[n-1]
		l.log.Info("status", zap.String("job", head.Key()), zap.String("state", string(last.Type)),
			zap.String("reason", last.Reason), zap.Int64("generation", head.Meta.Generation))
	}
	return version, nil
}

func unentered(ledger *schema.Ledger) string {
	if ledger.Verdict != "" {
		return "Error recording the verdict beside the status: "
	}
	return "Error recording restarts, so no failed pod is replaced: "
}

// enter writes the ledger. If it cannot be written no pod is deleted, with one exception: where the API server refuses a
// verdict for good the pods of a finished job go all the same, as their nodes are wanted by others.
func (l *kindLoop) enter(ctx context.Context, head *schema.Head, version string, todo plan.Plan) error {
	got, err := l.api.enter(ctx, head, version, todo.Ledger)
	if err == nil || errors.Is(err, errUnkept) {
		l.floors.raise(head.Meta.UID, got.ResourceVersion, "", "")
	}
	if apierrors.IsNotFound(err) {
		err = errUnrecorded // as in record
	}
	if err != nil {
		if worthTelling(err) {
			l.emitter.tell(head, []plan.Event{{Type: corev1.EventTypeWarning, Reason: schema.ReasonDeletePodFailed,
				Message: schema.Clean(unentered(todo.Ledger)+err.Error(), 1024), Occasion: occasion(head)}})
		}
		return fmt.Errorf("write the ledger of %s: %w", head.Key(), err)
	}
	for _, c := range todo.Count {
		if c.Counter == plan.CountRestarted {
			l.metrics.count(head, c)
		}
	}
	l.log.Info("ledger", zap.String("job", head.Key()), zap.Int64("restarts", todo.Ledger.Restarts), zap.Int("failed", len(todo.Ledger.Failed)),
		zap.String("verdict", string(todo.Ledger.Verdict)))
	return nil
}

// forget drops all that is kept in memory for an object.
func (l *kindLoop) forget(head *schema.Head) {
	l.floors.forget(head.Meta.UID)
	l.pruned.forget(head.Meta.UID)
	for _, e := range l.extras {
		e.futile.Delete(head.Meta.UID)
	}
}
