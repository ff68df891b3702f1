package apply

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/controller/consistency"
	"stoic/internal/lean"
	"stoic/schema"
)

// create posts the planned objects: first one, then two, four, eight at a time and so on, and no further batch after an error. An object
// that cannot have its pods costs one refused request per reconcile, not a thousand. A taken name concerns one child alone: the others
// are nevertheless created, unless many names are taken. A small new object gets all its children in one round trip, a small one that has
// begun in two, unless something went wrong for it, or recently in its namespace.
func (a *Applier) create(ctx context.Context, seen *schema.Observed, objects []schema.Object) (created bool, _ error) {
	head := seen.Head
	if len(objects) == 0 || a.terminating.wait(head.Meta.UID) > 0 {
		return false, nil
	}
	defer a.Limiter.enter()()
	made := make([]bool, len(objects))
	var failed []error
	small := a.isSmall(head, objects)
	for next, batch := 0, firstBatch(head, small); next < len(objects) && isWorthwhile(failed); batch = nextBatch(small, batch) {
		end := min(next+batch, len(objects))
		failed = append(failed, inParallel(next, end, func(i int) error {
			return a.Limiter.do(ctx, func() (err error) {
				began := a.Now()
				made[i], err = a.createOne(ctx, seen, objects[i])
				err = withCost(err, a.Now().Sub(began))
				a.refusals.note(head.Meta.UID, objects[i], err)
				return err
			})
		})...)
		next = end
	}
	a.terminating.note(head.Meta.UID, failed)
	a.cautious.note(objects, failed)
	names := map[schema.Resource][]string{}
	for i, o := range objects {
		if made[i] {
			names[o.Resource] = append(names[o.Resource], o.Name)
		}
	}
	a.report(head, "creating", "Created", names, failed)
	return len(names) > 0, errors.Join(failed...)
}

// firstBatch is one for an object that has begun before: what it creates now may replace what its namespace has lost because it is being
// deleted, and then one refused request is enough.
func firstBatch(head *schema.Head, small bool) int {
	if small && !head.Begun {
		return maxConcurrent
	}
	return 1
}

func nextBatch(small bool, batch int) int {
	if small {
		return maxConcurrent
	}
	return min(2*batch, 4*maxConcurrent)
}

// isSmall reports whether all children of an object may be created at the same time: there are few, and nothing has gone wrong so far.
func (a *Applier) isSmall(head *schema.Head, objects []schema.Object) bool {
	return len(objects) <= maxConcurrent && a.Failures(head.Key()) == 0 && !a.costly.is(head) && !a.cautious.is(objects)
}

// isWorthwhile reports whether the next batch is worth a request.
func isWorthwhile(failed []error) bool {
	return len(failed) < maxConcurrent && !slices.ContainsFunc(failed, func(err error) bool { return !isTaken(err) && !isElsewhere(err) })
}

// createOne posts one object. It is no error if the object exists already and is ours.
func (a *Applier) createOne(ctx context.Context, seen *schema.Observed, o schema.Object) (made bool, err error) {
	head := seen.Head
	o, err = a.generated(o)
	if err != nil {
		return false, err
	}
	got, err := a.API.create(ctx, o)
	if apierrors.IsAlreadyExists(err) {
		err = a.resolveAlreadyExists(ctx, seen, o)
		if taken := (*conflictError)(nil); o.Shared && errors.As(err, &taken) {
			return false, nil // it exists, whoever created it
		}
		return false, err
	}
	if lean.NamespaceGone(err) && o.Namespace != head.Meta.Namespace {
		err = &elsewhereError{o, err}
	}
	if err != nil {
		return false, &writeError{"create", o.Resource, o.Name, err}
	}
	if !a.isOptional(o.Resource) {
		a.Store.CreatedChild(head.Meta.UID)
	}
	a.wrote(head, o.Resource, got.ResourceVersion)
	return true, nil
}

// resolveAlreadyExists decides what a name that is taken means.
//
//	the controller owner of the object that has it   then
//	this very object                                 done; the cache will show it
//	this very object, but it is not selected         its labels are written if Owned.Relabel; else it is reported and
//	                                                 never touched: the cache will not show it
//	a deleted object of the same name and kind, or   wait for garbage collection; reported if it does not end
//	this very one, from a namespace that its owner
//	references do not reach
//	none, and Owned.Claims may select the object,    wait for the cache: it may be an orphan that this very object
//	which the cache does not show at this version    adopts
//	any other, or none                               a conflict: reported, never touched
//	(the object was deleted meanwhile)               retry
func (a *Applier) resolveAlreadyExists(ctx context.Context, seen *schema.Observed, o schema.Object) error {
	head := seen.Head
	got, err := a.API.get(ctx, o.Resource, o.Namespace, o.Name)
	switch {
	case apierrors.IsNotFound(err):
		return &writeError{"create", o.Resource, o.Name, errOldOwner}
	case err != nil:
		return fmt.Errorf("look at %s %s, whose name is taken: %w", o.Resource.Kind, o.Name, err)
	}
	owner := metav1.GetControllerOfNoCopy(got)
	switch sameKind := owner != nil && isOfKind(owner, head.Resource); {
	case owner == nil && a.isAnnotated(head, o.Resource, got), sameKind && owner.UID == head.Meta.UID && head.Reaches(o.Namespace):
		return a.adopt(ctx, head, o, got)
	case sameKind && owner.Name == head.Meta.Name:
		return &writeError{"create", o.Resource, o.Name, a.oldOwner(o, got)}
	case owner == nil && a.isUnseen(seen, o.Resource, got):
		a.wrote(head, o.Resource, got.ResourceVersion)
		return &writeError{"create", o.Resource, o.Name, ErrBehind}
	}
	return &conflictError{o, head.Resource.Kind + " " + head.Meta.Name, a.Noun}
}

// oldOwner returns the error about a name that a child of a deleted object still has: errOldOwner, or a stuckError if that child was to end
// half a minute ago.
func (a *Applier) oldOwner(o schema.Object, got *metav1.ObjectMeta) error {
	if got.DeletionTimestamp == nil || a.Now().Sub(got.DeletionTimestamp.Time) < stuckAfter {
		return errOldOwner
	}
	return &stuckError{o, got.Finalizers[:min(len(got.Finalizers), maxNamedFinalizers)], a.Noun}
}

// isUnseen reports whether owners claim orphans of a resource, and the plan was made from a cache that was older than this object. The
// cache may have reached it since: the next plan sees it.
func (a *Applier) isUnseen(seen *schema.Observed, r schema.Resource, got *metav1.ObjectMeta) bool {
	i := a.child(r)
	return i >= 0 && a.Dependents[i].Claims != nil && !consistency.Reached(seen.Children[i].Version, got.ResourceVersion)
}

// isOfKind reports whether an owner reference names this kind. Its version does not matter: the reference may have been written when
// another version was served.
func isOfKind(owner *metav1.OwnerReference, r schema.Resource) bool {
	gv, err := runtimeschema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == r.Group && owner.Kind == r.Kind
}

// isAnnotated reports whether an object names this very object as its owner by annotation; see Owned.OwnerAnnotation.
func (a *Applier) isAnnotated(head *schema.Head, r schema.Resource, got *metav1.ObjectMeta) bool {
	d := a.dependents(r)
	return d != nil && d.OwnerAnnotation != "" && got.Annotations[d.OwnerAnnotation] == schema.OwnerText(head)
}

// adopt gives a child of this very object the labels by which it is selected, if it lacks them and Owned.Relabel is set.
func (a *Applier) adopt(ctx context.Context, head *schema.Head, o schema.Object, got *metav1.ObjectMeta) error {
	d := a.dependents(o.Resource)
	if d == nil || d.Unwatched {
		return nil // nothing selects it
	}
	lost := d.Lost(head, got.Labels)
	switch {
	case lost == "":
		a.wrote(head, o.Resource, got.ResourceVersion)
		return nil
	case !d.Relabel || d.Labels == nil:
		return &notSelectedError{o, lost}
	}
	patch := schema.JSON(map[string]any{"metadata": map[string]any{"uid": got.UID, "resourceVersion": got.ResourceVersion,
		"labels": d.Labels(head)}})
	got, err := a.API.merge(ctx, o.Resource, o.Namespace, patch, o.Name)
	switch {
	case apierrors.IsNotFound(err): // deleted meanwhile, and no event says so: it was not selected
		return &writeError{"create", o.Resource, o.Name, errOldOwner}
	case err != nil:
		return &writeError{"update", o.Resource, o.Name, err}
	}
	a.wrote(head, o.Resource, got.ResourceVersion)
	if lost := d.Lost(head, got.Labels); lost != "" && got.UID != "" { // the answer may be one that cannot be read
		return &notSelectedError{o, lost}
	}
	return nil
}

// wrote notes the version at which a child, or the object itself, was written.
func (a *Applier) wrote(head *schema.Head, r schema.Resource, version string) {
	if r == head.Resource {
		a.Store.WroteObject(head.Meta.UID, version)
	} else if i := a.child(r); i >= 0 && !a.Dependents[i].Unwatched {
		a.Store.RequireChildVersion(head.Meta.UID, i, version)
	}
}

// partition splits what is to be created, in order, into objects of optional resources and all others.
func (a *Applier) partition(objects []schema.Object) (optional, required []schema.Object) {
	for _, o := range objects {
		if a.isOptional(o.Resource) {
			optional = append(optional, o)
		} else {
			required = append(required, o)
		}
	}
	return optional, required
}

// createOptional posts objects of optional resources one by one. It returns how many may have an event to wait for, whether one of an
// unwatched resource is missing, and when to look again. Unless the object has changed, these are not posted again for a while: one that
// was refused, one that another client has created, and one of an unwatched resource that exists, as a plan never sees it and may create
// it each time. The last is nevertheless posted if others are created after it, as it may have been deleted.
func (a *Applier) createOptional(ctx context.Context, seen *schema.Observed, objects []schema.Object, othersFollow bool) (tried int, missing bool, requeue time.Duration, _ error) {
	head := seen.Head
	var failed []error
	for _, o := range objects {
		if a.terminating.wait(head.Meta.UID) > 0 {
			break // the one before was refused
		}
		d := a.dependents(o.Resource)
		unwatched, unseen := d != nil && d.Unwatched, d == nil || d.Unwatched
		name, asked := targetOf(o.Resource, o.Namespace, o.Name), occasion(head)+string(o.Body)
		wait, wake := a.negative.wait(head.Meta.UID, name, asked, a.Now())
		there := unseen && wake == 0 // by the last look
		if wait > 0 && !(there && othersFollow) {
			requeue, missing = Earlier(requeue, wake), missing || unwatched && !there
			continue
		}
		made, err := a.create(ctx, seen, []schema.Object{o})
		missing = missing || unwatched && err != nil
		a.negative.note(head.Meta.UID, name, asked, err, !unseen && (made || !o.Shared), a.Now())
		failed = append(failed, err)
		if !unseen {
			tried++
		}
	}
	return tried, missing, requeue, errors.Join(failed...)
}

// patch changes dependents and returns when to look again. A patch that is refused, or that the API server accepts without a change (a
// schema drops its fields), is not sent again for a while, unless the dependent has changed.
func (a *Applier) patch(ctx context.Context, head *schema.Head, patches []schema.Patch) (requeue time.Duration, _ error) {
	var failed []error
	for _, p := range patches {
		path := []string{p.Name}
		if p.Subresource != "" {
			path = append(path, p.Subresource)
		}
		name, asked := targetOf(p.Resource, p.Namespace, path...), string(p.UID)+p.ResourceVersion+string(p.Body)
		if wait, wake := a.negative.wait(head.Meta.UID, name, asked, a.Now()); wait > 0 {
			requeue = Earlier(requeue, wake)
			continue
		}
		began := a.Now()
		got, err := a.API.merge(ctx, p.Resource, p.Namespace, p.Body, path...)
		if apierrors.IsNotFound(err) && a.lacksSubresource(ctx, p) {
			err = &noSubresourceError{p}
		}
		if err != nil {
			err = withCost(&writeError{"update", p.Resource, p.Name, err}, a.Now().Sub(began))
			failed = append(failed, err)
		} else {
			a.wrote(head, p.Resource, got.ResourceVersion)
		}
		a.negative.note(head.Meta.UID, name, asked, err, got.ResourceVersion != p.ResourceVersion, a.Now())
	}
	a.report(head, "updating", "Updated", nil, failed)
	return requeue, errors.Join(failed...)
}

// lacksSubresource reports whether a 404 to a patch means that the subresource is not served. API servers answer the same for a deleted
// object.
func (a *Applier) lacksSubresource(ctx context.Context, p schema.Patch) bool {
	if p.Subresource == "" {
		return false
	}
	got, err := a.API.get(ctx, p.Resource, p.Namespace, p.Name)
	return err == nil && got.UID == p.UID
}

// remove deletes what the plan names, each object only if it still is the one that was seen.
func (a *Applier) remove(ctx context.Context, head *schema.Head, plan schema.Plan, version string) error {
	deletions := atVersion(plan.Delete, head, version)
	gone := make([]bool, len(deletions))
	failed := inParallel(0, len(deletions), func(i int) (err error) {
		gone[i], err = a.removeOne(ctx, head, deletions[i])
		return err
	})
	names := map[schema.Resource][]string{}
	for i, d := range deletions {
		if gone[i] {
			names[d.Resource] = append(names[d.Resource], d.Name)
		}
		if gone[i] && d.UID == head.Meta.UID {
			a.count(head, plan, schema.AfterDeletion)
		}
	}
	a.report(head, "deleting", "Deleted", names, failed)
	return errors.Join(failed...)
}

func (a *Applier) removeOne(ctx context.Context, head *schema.Head, d schema.Deletion) (gone bool, _ error) {
	got, err := a.API.delete(ctx, d)
	if apierrors.IsConflict(err) && d.ResourceVersion != "" {
		got, err = a.resolveConflict(ctx, head, d, err)
	}
	switch {
	case apierrors.IsNotFound(err):
		a.gone(head, d)
		return false, nil // gone already
	case err != nil:
		// This includes a conflict. Another object may have the name: it is not ours to delete, and the caches will show it. Or an
		// admission webhook refuses: then no event queues the object again.
		return false, &writeError{"delete", d.Resource, d.Name, err}
	case got.DeletionTimestamp != nil && got.ResourceVersion != "":
		a.wrote(head, d.Resource, got.ResourceVersion)
	default: // the version is that of the last state before the end, or there is none: another request came in between and removed it
		a.gone(head, d)
	}
	return true, nil
}

// gone notes that what was deleted no longer exists: a child, or the object itself.
func (a *Applier) gone(head *schema.Head, d schema.Deletion) {
	if d.UID == head.Meta.UID {
		a.Store.Gone(d.UID)
	} else {
		a.Store.Tombstone(head.Meta.UID, d.UID)
	}
}

// resolveConflict decides what the refusal of a deletion that names a resourceVersion means.
//
//	the object that has the name now    then
//	another one                         the conflict itself, with its back-off: it is not ours to delete
//	the same, at another version        the decision is made again on what the cache shows next
//	the same, at this version           the version is not the cause: an API server that removes the last finalizer of an
//	                                    object, as background deletion does to "orphan", refuses every version after
//	                                    that. It is deleted by its UID alone; a webhook that answers 409 does so again
func (a *Applier) resolveConflict(ctx context.Context, head *schema.Head, d schema.Deletion, conflict error) (*metav1.ObjectMeta, error) {
	if d.UID == head.Meta.UID {
		if err := a.isAsSeen(ctx, head, d.ResourceVersion); err != nil {
			return nil, err
		}
	} else {
		got, err := a.API.get(ctx, d.Resource, d.Namespace, d.Name)
		switch {
		case err != nil:
			return nil, err
		case got.UID != d.UID:
			return nil, conflict
		case got.ResourceVersion != d.ResourceVersion:
			a.wrote(head, d.Resource, got.ResourceVersion)
			return nil, ErrBehind
		}
	}
	d.ResourceVersion = ""
	return a.API.delete(ctx, d)
}

// inParallel calls do for from..to-1, at most maxConcurrent at a time, and returns the errors in order.
func inParallel(from, to int, do func(int) error) []error {
	results := make([]error, max(to-from, 0))
	var running sync.WaitGroup
	slots := make(chan struct{}, maxConcurrent)
	for i := from; i < to; i++ {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			defer func() {
				if p := recover(); p != nil {
					results[i-from] = &PanicError{p, debug.Stack()}
				}
			}()
			results[i-from] = do(i)
		})
	}
	running.Wait()
	return slices.DeleteFunc(results, func(err error) bool { return err == nil })
}
