package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// revision is the state of an object after our own writes. The next write names the version and compares the generation.
type revision struct {
	version    string
	generation int64
}

// record adds finalizers and writes the status. When the status is on record, it counts the transition and logs it in one line. A status
// that says the same of the object as before is not written. It returns the revision of the object after that.
func (a *Applier) record(ctx context.Context, seen *schema.Observed, plan schema.Plan) (at revision, err error) {
	head := seen.Head
	at = revision{head.Meta.ResourceVersion, head.Meta.Generation}
	if len(plan.AddFinalizers) > 0 {
		has := head.Meta.Finalizers
		if at, err = a.setFinalizers(ctx, head, at, has, withAll(has, plan.AddFinalizers)); err != nil {
			a.report(head, "adding finalizers", "", nil, []error{err})
			return at, err
		}
	}
	if plan.Status == nil || a.pruning.changesNothing(head, plan.Status) && !a.observesAnew(head, plan.Status) {
		// The server would not keep it this time either.
		return at, nil
	}
	if a.Objects.HasStatus() {
		at, err = a.writeStatus(ctx, head, at, plan)
	} else {
		err = errStatusless
	}
	if err != nil {
		err = fmt.Errorf("write the status of %s: %w", head.Key(), err)
		a.reportUnrecorded(seen, plan, err)
		return at, err
	}
	a.count(head, plan, schema.AfterStatus)
	level := zap.InfoLevel
	if plan.Summary == "" {
		level = zap.DebugLevel
	}
	a.Log.Log(level, "status", zap.String("object", head.Key()), zap.String("rule", plan.Rule), zap.String("summary", schema.Clean(plan.Summary, 200)),
		zap.Int64("generation", head.Meta.Generation))
	return at, nil
}

// observesAnew reports whether a status is about another generation than the recorded one, and the server keeps that field.
func (a *Applier) observesAnew(head *schema.Head, status any) bool {
	asked := observedGeneration(status)
	return asked != 0 && asked != head.ObservedGeneration && a.KeepsGeneration(head)
}

func (a *Applier) writeStatus(ctx context.Context, head *schema.Head, at revision, plan schema.Plan) (revision, error) {
	kept, err := a.API.status(ctx, head, at.version, plan.Status)
	if apierrors.IsNotFound(err) {
		err = errUnrecorded // the cache will show it, and the retry finds nothing
		if !a.Objects.HasStatus() {
			err = errStatusless // the subresource went after it was looked for
		}
	}
	if err != nil {
		return at, err
	}
	at.version = kept.version
	a.Store.WroteObject(head.Meta.UID, kept.version)
	asked := observedGeneration(plan.Status)
	keepsGeneration := observedGeneration(kept.status) == asked
	if asked != 0 { // a status that has no generation shows nothing of what the API server keeps
		a.keepsGeneration.Store(keepsGeneration)
	}
	differs := a.pruning.note(head.Meta.UID, plan.Status, kept)
	if differs {
		a.Log.Debug("the status is not kept as written", zap.String("object", head.Key()))
	}
	var fields []string
	if differs || !keepsGeneration {
		fields = lostFields(plan.Status, kept.status)
	}
	a.notePruned(fields)
	return at, nil
}

func (a *Applier) count(head *schema.Head, plan schema.Plan, after schema.Stage) {
	for _, c := range plan.Count {
		if c.After == after && a.Count != nil {
			a.Count(head, c)
		}
	}
}

// reportUnrecorded emits events when the API server refuses the status for a reason that is not transient: those of the plan and, unless
// the object is rejected anyway, one that says why nothing happens.
func (a *Applier) reportUnrecorded(seen *schema.Observed, plan schema.Plan, err error) {
	if ClassOf(err) != Refused && !isForAuthor(err) {
		return
	}
	a.Events.Emit(seen.Head, plan.Events)
	if seen.Rejection == nil {
		a.Events.Emit(seen.Head, []schema.Event{{Type: corev1.EventTypeWarning, Reason: a.FailedReason, AboutSpec: true,
			Message: "Error recording the status: " + err.Error(), Occasion: occasion(seen.Head)}})
	}
}

// annotate writes annotations of the object itself. If they cannot be written nothing is deleted, unless the plan says
// otherwise. It returns the revision of the object after that.
func (a *Applier) annotate(ctx context.Context, head *schema.Head, at revision, plan schema.Plan) (revision, error) {
	if plan.Annotate == nil {
		return at, nil
	}
	patch := schema.JSON(map[string]any{"metadata": map[string]any{"resourceVersion": at.version, "annotations": plan.Annotate.Values}})
	got, err := a.API.merge(ctx, head.Resource, head.Meta.Namespace, patch, head.Meta.Name)
	if err == nil {
		at.version = got.ResourceVersion
		if err = a.wroteObject(head, at, got); err == nil {
			err = notKept(plan.Annotate.Values, got.Annotations)
		}
	}
	if apierrors.IsNotFound(err) {
		err = errUnrecorded // as in writeStatus
	}
	if err != nil {
		if isForAuthor(err) {
			event := plan.Annotate.Refused
			event.Message, event.Occasion = schema.Clean(event.Message+err.Error(), 1024), occasion(head)
			a.Events.Emit(head, []schema.Event{event})
		}
		return at, fmt.Errorf("annotate %s: %w", head.Key(), err)
	}
	a.count(head, plan, schema.AfterAnnotations)
	a.Log.Debug("annotations", zap.String("object", head.Key()), zap.String("rule", plan.Rule))
	return at, nil
}

// wroteObject notes the version that a write of the object's metadata returned. The write names the version that the decision rests on,
// or at which the status was written. If the generation differs from that version's, an admission webhook has changed the spec on the
// way: the decision is made again, and the event of the write is no echo.
func (a *Applier) wroteObject(head *schema.Head, at revision, got *metav1.ObjectMeta) error {
	if at.generation != 0 && got.Generation != 0 && got.Generation != at.generation {
		a.Store.RequireObjectVersion(head.Meta.UID, got.ResourceVersion)
		return fmt.Errorf("the spec was changed with what was written: %w", ErrBehind)
	}
	a.Store.WroteObject(head.Meta.UID, got.ResourceVersion)
	return nil
}

func notKept(asked, kept map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if kept[name] != asked[name] {
			return &notKeptError{"annotation " + name}
		}
	}
	return nil
}

// finalize removes finalizers. An object that is gone has none.
func (a *Applier) finalize(ctx context.Context, head *schema.Head, at revision, plan schema.Plan) error {
	has := withAll(head.Meta.Finalizers, plan.AddFinalizers) // as record left them
	left := slices.DeleteFunc(slices.Clone(has), func(f string) bool { return slices.Contains(plan.RemoveFinalizers, f) })
	_, err := a.setFinalizers(ctx, head, at, has, left)
	if errors.Is(err, errUnrecorded) {
		return nil
	}
	if err != nil {
		a.report(head, "removing finalizers", "", nil, []error{err})
	}
	return err
}

// withAll returns a list with further members, each once.
func withAll(list, add []string) []string {
	list = slices.Clone(list)
	for _, f := range add {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// setFinalizers replaces the finalizers of the object, if it is still at this version (409 otherwise): a merge patch cannot add or remove
// one item. An added finalizer that is not kept is an error: what it guards must not be created.
func (a *Applier) setFinalizers(ctx context.Context, head *schema.Head, at revision, has, wants []string) (revision, error) {
	if slices.Equal(has, wants) {
		return at, nil
	}
	patch := schema.JSON(map[string]any{"metadata": map[string]any{"resourceVersion": at.version, "finalizers": wants}})
	got, err := a.API.merge(ctx, head.Resource, head.Meta.Namespace, patch, head.Meta.Name)
	if err == nil {
		at.version = got.ResourceVersion
		err = a.wroteObject(head, at, got)
		if lost := slices.IndexFunc(wants, func(f string) bool { return !slices.Contains(has, f) && !slices.Contains(got.Finalizers, f) }); lost >= 0 {
			err = &notKeptError{"finalizer " + wants[lost]}
		}
		if head.Meta.DeletionTimestamp != nil && len(got.Finalizers) == 0 {
			a.Store.Gone(head.Meta.UID)
		}
	}
	if apierrors.IsNotFound(err) {
		err = errUnrecorded
	}
	if err != nil {
		return at, fmt.Errorf("write the finalizers of %s: %w", head.Key(), err)
	}
	a.Log.Debug("finalizers", zap.String("object", head.Key()), zap.Strings("finalizers", wants))
	return at, nil
}
