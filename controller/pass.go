package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

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
	seen, err := l.observe(ctx, result)
	if err != nil {
		return 0, err
	}
	todo := l.Plan(seen)
	again, err = l.execute(ctx, seen, todo)
	if now := l.result(key); now == nil || now.Meta.UID != result.Meta.UID {
		l.forget(result.Head) // deleted meanwhile: what this pass noted would stay for ever
	}
	return again, err
}

// observe gathers what a decision may depend on. If the caches are older than our own writes it answers errBehind.
func (l *kindLoop) observe(ctx context.Context, result *convert.Result) (seen plan.Observed, err error) {
	owner := result.Meta.UID
	switch l.floors.check(owner, l.version, l.children.podVersion, l.children.serviceVersion) {
	case tooOld:
		return seen, errBehind
	case readLive:
		return l.observeLive(ctx, result)
	}
	seen = l.observed(result)
	seen.Pods, seen.Services = l.children.of(result.Meta.Namespace, owner)
	return seen, nil
}

// observeLive reads everything from the API server, for when the caches do not catch up.
func (l *kindLoop) observeLive(ctx context.Context, cached *convert.Result) (seen plan.Observed, err error) {
	l.log.Warn("the caches are behind our own writes for too long; reading from the API server", zap.String("job", cached.Key()))
	l.metrics.liveReads.WithLabelValues(l.kind.Name).Inc()
	resource := runtimeschema.GroupVersionResource{Group: l.kind.Group, Version: l.kind.Version, Resource: l.kind.Plural}
	raw, err := l.untyped.Resource(resource).Namespace(cached.Meta.Namespace).Get(ctx, cached.Meta.Name, metav1.GetOptions{})
	if err != nil {
		return seen, fmt.Errorf("get %s: %w", cached.Key(), err)
	}
	result := converted(l.kind, l.Convert, raw)
	seen = l.observed(result)
	seen.Pods, seen.Services, err = l.children.live(ctx, result.Meta.Namespace, result.Meta.Name, result.Meta.UID)
	if err != nil {
		return seen, fmt.Errorf("read the children of %s: %w", cached.Key(), err)
	}
	l.floors.forget(cached.Meta.UID)
	return seen, nil
}

func (l *kindLoop) observed(result *convert.Result) plan.Observed {
	return plan.Observed{Head: result.Head, Job: result.Job, Rejection: result.Rejection,
		Now: l.options.Now(), Domain: l.options.Domain,
		KeepsGeneration: result.Status.ObservedGeneration != 0 || l.keepsGeneration.Load()}
}

// execute writes a plan: status, then events, then deletions, then creations. Each depends on the ones before
// being on record; a crash between any two leaves a state from which the same plan follows again.
func (l *kindLoop) execute(ctx context.Context, seen plan.Observed, todo plan.Plan) (again time.Duration, err error) {
	if todo.Status != nil {
		if err := l.record(ctx, seen.Head, todo); err != nil {
			l.tellUnrecorded(seen, todo, err)
			return 0, err
		}
	}
	l.emitter.tell(seen.Head, todo.Events)
	removed := l.remove(ctx, seen.Head, todo.Delete)
	created := l.create(ctx, seen.Head, todo.Create)
	return todo.Recheck, errors.Join(removed, created)
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

// record writes the status and, when it is on record, counts and logs the transition.
func (l *kindLoop) record(ctx context.Context, head *schema.Head, todo plan.Plan) error {
	if l.pruned.knows(head, todo.Status) {
		return nil // the server would not keep it this time either
	}
	got, kept, err := l.api.record(ctx, head, todo.Status)
	if apierrors.IsNotFound(err) {
		err = errUnrecorded // the cache will say so, and the retry finds nothing
		if l.statusless.Load() {
			err = errStatusless
		}
	}
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", head.Key(), err)
	}
	l.floors.raise(head.Meta.UID, got.ResourceVersion, "", "")
	l.keepsGeneration.Store(kept != nil && kept.ObservedGeneration == todo.Status.ObservedGeneration)
	if l.pruned.note(head.Meta.UID, todo.Status, kept, got.ResourceVersion) {
		l.log.Warn("the schema of the CRD does not keep the status as written", zap.String("job", head.Key()))
	}
	for _, c := range todo.Count {
		if c.Counter != plan.CountDeleted { // which is counted when it has been done
			l.metrics.count(head, c)
		}
	}
	if n := len(todo.Status.Conditions); n > 0 {
		last := todo.Status.Conditions[n-1]
		l.log.Info("status", zap.String("job", head.Key()), zap.String("state", string(last.Type)),
			zap.String("reason", last.Reason), zap.Int64("generation", head.Meta.Generation))
	}
	return nil
}

// forget drops all that is kept in memory for an object.
func (l *kindLoop) forget(head *schema.Head) {
	l.floors.forget(head.Meta.UID)
	l.pruned.forget(head.Meta.UID)
}
