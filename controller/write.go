package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/controller/plan"
	"stoic/schema"
)

// atOnce is how many requests of one pass are under way at the same time, at most. Of creations, see breadth, too.
const atOnce = 16

// create posts the planned objects: first one, then two, four, eight at once, and no further batch after an
// error. A job that cannot have its pods costs one refused request a pass, not a thousand. A name that is taken
// concerns one object alone: the others are created all the same, unless there are many such. A small job to which nothing
// went wrong so far gets all its objects in one round trip.
func (l *kindLoop) create(ctx context.Context, head *schema.Head, objects []schema.Object) error {
	if len(objects) > 0 {
		defer l.breadth.enter()()
	}
	made := make([]bool, len(objects))
	var failed []error
	for next, batch := 0, l.firstBatch(head, len(objects)); next < len(objects) && goesOn(failed); batch = min(2*batch, 4*atOnce) {
		end := min(next+batch, len(objects))
		failed = append(failed, inParallel(next, end, func(i int) error {
			return l.breadth.do(ctx, func() (err error) {
				made[i], err = l.createOne(ctx, head, objects[i])
				return err
			})
		})...)
		next = end
	}
	l.emitter.tell(head, l.creations(head, objects, made, failed))
	return errors.Join(failed...)
}

func (l *kindLoop) firstBatch(head *schema.Head, objects int) int {
	if objects <= atOnce && l.failures.NumRequeues(head.Key()) == 0 {
		return atOnce
	}
	return 1
}

// goesOn says whether the next batch is worth trying.
func goesOn(failed []error) bool {
	return len(failed) < atOnce && !slices.ContainsFunc(failed, func(err error) bool { return !isTaken(err) })
}

// createOne posts one object. An object that exists already is no error if it is ours.
func (l *kindLoop) createOne(ctx context.Context, head *schema.Head, o schema.Object) (made bool, err error) {
	got, err := l.api.create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		return false, l.whose(ctx, head, o)
	}
	if err != nil {
		return false, &writeError{"create", o.Resource, o.Name, err}
	}
	if !isExtra(head.Kind, o.Resource) {
		l.floors.gained(head.Meta.UID)
	}
	l.raise(head, o.Resource, got)
	return true, nil
}

// whose decides what a name that is taken means.
//
//	the object's controller owner             answer
//	this very job                             done; the cache will show it
//	this very job, but it is not selected     told, never touched: the cache will not show it; an extra object
//	                                          gets its label: earlier operators made them without
//	a deleted job of the same name and kind   wait for garbage collection
//	anybody else, nobody                      a conflict: told, never touched
//	(the object has gone meanwhile)           try again
func (l *kindLoop) whose(ctx context.Context, head *schema.Head, o schema.Object) error {
	got, err := l.api.get(ctx, o.Resource, o.Namespace, o.Name)
	switch {
	case apierrors.IsNotFound(err):
		return &writeError{"create", o.Resource, o.Name, errOldOwner}
	case err != nil:
		return fmt.Errorf("look at %s %s, whose name is taken: %w", o.Resource.Kind, o.Name, err)
	case got.Controller == head.Meta.UID && got.Operator != head.Kind.Controller && isExtra(head.Kind, o.Resource):
		return l.adopt(ctx, head, o, got)
	case got.Controller == head.Meta.UID && got.Operator != head.Kind.Controller:
		return &unseenError{o, head.Kind.Controller}
	case got.Controller == head.Meta.UID:
		l.raise(head, o.Resource, got)
		return nil
	case got.ControllerKind == head.Kind.Name && got.ControllerName == head.Meta.Name:
		return &writeError{"create", o.Resource, o.Name, errOldOwner}
	}
	return &conflictError{o}
}

// raise notes that a child, an extra object, or the job itself, was written at a version.
func (l *kindLoop) raise(head *schema.Head, r schema.Resource, got written) {
	switch r {
	case schema.Pods():
		l.floors.raise(head.Meta.UID, "", got.ResourceVersion, "")
	case schema.Services():
		l.floors.raise(head.Meta.UID, "", "", got.ResourceVersion)
	case head.Kind.Resource():
		l.floors.raise(head.Meta.UID, got.ResourceVersion, "", "")
	default:
		l.floors.raiseExtra(head.Meta.UID, r, got.ResourceVersion)
	}
}

// remove deletes what the plan names, each only if it still is what was seen.
func (l *kindLoop) remove(ctx context.Context, head *schema.Head, deletions []plan.Deletion) error {
	gone := make([]bool, len(deletions))
	failed := inParallel(0, len(deletions), func(i int) error {
		d := deletions[i]
		got, err := l.api.remove(ctx, d)
		if apierrors.IsNotFound(err) {
			l.floors.bury(head.Meta.UID, d.UID)
			return nil // gone already
		}
		if err != nil {
			// A conflict, too: it may be another object under the same name, which is not ours to delete and which the
			// caches will show, or some admission webhook, and then no event will bring us back.
			return &writeError{"delete", d.Resource, d.Name, err}
		}
		gone[i] = true
		if got.Deleting {
			l.raise(head, d.Resource, got)
		} else { // the version is that of the last state before the end, if there is one
			l.floors.bury(head.Meta.UID, d.UID)
		}
		return nil
	})
	for i, d := range deletions {
		if gone[i] && d.Resource == head.Kind.Resource() {
			l.metrics.count(head, plan.Count{Counter: plan.CountDeleted})
		}
	}
	l.emitter.tell(head, l.removals(head, deletions, gone, failed))
	return errors.Join(failed...)
}

// inParallel calls do for from..to-1, at most atOnce at a time, and returns the errors in order.
func inParallel(from, to int, do func(int) error) []error {
	results := make([]error, max(to-from, 0))
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := from; i < to; i++ {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			defer func() {
				if p := recover(); p != nil {
					results[i-from] = fmt.Errorf("%w: %v", errPanicked, p)
				}
			}()
			results[i-from] = do(i)
		})
	}
	running.Wait()
	var failed []error
	for _, err := range results {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// creations tells what was made in one sentence a resource, and the first failure that its author can act on.
func (l *kindLoop) creations(head *schema.Head, objects []schema.Object, made []bool, failed []error) []plan.Event {
	names := map[schema.Resource][]string{}
	for i, o := range objects {
		if made[i] {
			names[o.Resource] = append(names[o.Resource], o.Name)
		}
	}
	events := l.listed("Created", names)
	if told := firstWorthTelling(failed); told != nil {
		events = append(events, refusal(head.Kind, "creating", told, occasion(head)))
	}
	return events
}

func (l *kindLoop) removals(head *schema.Head, deletions []plan.Deletion, gone []bool, failed []error) []plan.Event {
	names := map[schema.Resource][]string{}
	for i, d := range deletions {
		if gone[i] {
			names[d.Resource] = append(names[d.Resource], d.Name)
		}
	}
	events := l.listed("Deleted", names)
	if told := firstWorthTelling(failed); told != nil {
		events = append(events, refusal(head.Kind, "deleting", told, occasion(head)))
	}
	return events
}

func firstWorthTelling(failed []error) error {
	for _, err := range failed {
		if worthTelling(err) {
			return err
		}
	}
	return nil
}

// refusal is the event for a write that failed for a reason the author should know.
func refusal(kind *schema.Kind, doing string, err error, occasion string) plan.Event {
	event := plan.Event{Type: corev1.EventTypeWarning, Reason: schema.ReasonCreatePodFailed,
		Message: "Error " + doing + ": " + err.Error(), Occasion: occasion}
	var write *writeError
	switch {
	case isForeign(err):
		event.Reason, event.Message = schema.ReasonNameConflict, err.Error()
	case errors.As(err, &write):
		event.Reason = reasons(kind, write.verb, write.resource).failed
	}
	return event
}

// occasion of what may happen again for every generation of an object.
func occasion(head *schema.Head) string { return fmt.Sprintf("generation %d", head.Meta.Generation) }
