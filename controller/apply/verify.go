package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/controller/consistency"
	"stoic/schema"
)

// verifyFresh makes sure that a plan is based on the present before it writes other objects or removes a finalizer, which may guard
// children that a cache does not show yet. It does so once for each object in the lifetime of a process, and again before something is
// created in the place of deleted children. An API server may answer a new watch from a past in which the object was not yet finished,
// suspended or scaled, or in which its pods still ran. A watch that lags may show an object that is deleted, while garbage collection
// deletes its children. A write to the object itself is then refused by its resourceVersion; writes to its children have no such guard.
// The caches of optional resources count if the object has a finalizer, which this plan or a later one removes: it may guard their
// objects.
//
//	the object is                        and the caches of its children
//	new: this plan wrote its first status -                                apply the plan
//	gone, another, newer than seen       -                                 wait for the cache of the objects
//	as seen, or just written             were verified before              apply the plan
//	as seen, or just written             are as new as the object          decide again, on what they show now
//	as seen, or just written             are older: it may have finished   read everything from the API server
//	                                     because of what they do not show
//
// It reports whether the plan may be applied.
func (a *Applier) verifyFresh(ctx context.Context, seen *schema.Observed, written bool, plan schema.Plan) (current bool, err error) {
	head := seen.Head
	uid, version := head.Meta.UID, head.Meta.ResourceVersion
	children, required := 0, []int(nil)
	for i, d := range a.Dependents {
		switch {
		case !a.isOptional(d.Resource):
			children += len(seen.Of(d.Resource))
			required = append(required, i)
		case len(head.Meta.Finalizers) > 0 && !d.Unwatched && d.Known():
			required = append(required, i)
		}
	}
	verified := a.Store.Verified(uid)
	if missing := a.Store.ChildrenMissing(uid, children); verified && (!missing || len(plan.Create) == 0) {
		return true, nil
	}
	if !verified && written && !head.Begun && !releases(head, plan) {
		a.Store.SetVerified(uid)
		return true, nil
	}
	if !written {
		if err := a.isAsSeen(ctx, head, version); err != nil {
			return false, err
		}
	}
	a.Store.SawChildren(uid, children)
	if verified {
		return true, nil
	}
	for _, i := range required {
		if !consistency.Reached(a.Dependents[i].Version(), version) {
			a.Store.RequireLiveRead(uid, version, required)
			return false, nil
		}
	}
	a.Store.SetVerified(uid)
	return false, nil
}

// isAsSeen returns an error unless the API server confirms that an object is still at the version that a plan was made for.
func (a *Applier) isAsSeen(ctx context.Context, head *schema.Head, version string) error {
	got, err := a.API.get(ctx, head.Resource, head.Meta.Namespace, head.Meta.Name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("look at %s: %w", head.Key(), errUnrecorded)
	case err != nil:
		return fmt.Errorf("look at %s: %w", head.Key(), err)
	case got.UID != head.Meta.UID:
		return ErrBehind // the one that was seen is gone
	case got.ResourceVersion != version:
		a.Store.RequireObjectVersion(head.Meta.UID, got.ResourceVersion)
		return ErrBehind
	}
	return nil
}

// requireFollowed reports whether a patch was decided on a cache of children that is older than the patched object
// (schema.Patch.Follows). Reconciles then wait for that cache, up to consistency.FollowedPatience; after that everything is read from the
// API server.
func (a *Applier) requireFollowed(seen *schema.Observed, plan schema.Plan) (behind bool) {
	for i := range plan.Patch {
		p := &plan.Patch[i]
		for child, d := range a.Dependents {
			if !slices.Contains(p.Follows, d.Resource) || consistency.Reached(seen.Children[child].Version, p.ResourceVersion) {
				continue
			}
			a.Store.RequireFollowed(seen.Head.Meta.UID, child, p.ResourceVersion)
			behind = true
		}
	}
	return behind
}
