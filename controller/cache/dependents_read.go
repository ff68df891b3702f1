package cache

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"stoic/controller/consistency"
	"stoic/schema"
)

// Read reads the children of one object from the API server, and the newest version among them. It is for when the
// cache does not catch up with our own writes. through are the children whose own children are read as well.
func (d *Dependents) Read(ctx context.Context, owner *schema.Head, through ...schema.Child) (found schema.Children, newest string, _ error) {
	if d.Optional {
		if now := d.Of(owner); now.Unknown {
			return now, "", nil
		}
	}
	found.Resource = d.Resource
	selector, possible := d.selectorOf(owner)
	if !possible || d.Unwatched {
		return found, "", nil
	}
	children, err := d.reads.list(ctx, d.namespaceOf(owner), selector)
	if apierrors.IsNotFound(err) && d.Optional { // it has just gone; the watch will notice, and what it says then is another answer
		d.missed.Store(true)
		found.Unknown = true
		return found, "", nil
	}
	if err != nil {
		return found, "", fmt.Errorf("list %s: %w", d.Resource.Plural, err)
	}
	for _, c := range children {
		controller := c.owner().UID
		switch {
		case controller == owner.Meta.UID && !c.annotated && !owner.Reaches(c.Namespace): // as in Of
			continue
		case controller == owner.Meta.UID && c.claim != nil:
			found.Unclaimed = append(found.Unclaimed, c.candidate())
		case controller == owner.Meta.UID:
			found.Items = append(found.Items, c.seen())
		case c.isOrphan() && (owner.Resource.Cluster || c.Namespace == owner.Meta.Namespace):
			found.Orphans = append(found.Orphans, c.candidate())
			continue // its version says nothing of the children
		case slices.ContainsFunc(through, func(o schema.Child) bool { return o.UID == controller && o.Namespace == c.Namespace }):
			found.Items = append(found.Items, c.through(controller))
		default:
			continue
		}
		newest = consistency.Newer(newest, c.ResourceVersion)
	}
	return found, newest, nil
}

// namespaceOf returns where the children of an owner are read: wherever they are watched, if they may be in any
// namespace.
func (d *Dependents) namespaceOf(owner *schema.Head) string {
	switch {
	case d.Resource.Cluster:
		return ""
	case owner.Resource.Cluster, d.OwnerAnnotation != "":
		return d.source.Namespace
	}
	return owner.Meta.Namespace
}

// selectorOf selects the children of one owner; not possible: no child can have the labels, and to list them is an
// error.
func (d *Dependents) selectorOf(owner *schema.Head) (selector string, possible bool) {
	selector = d.Selector
	if d.Labels == nil {
		return selector, true
	}
	own := d.Labels(owner)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name]
		if len(validation.IsValidLabelValue(value)) > 0 {
			return "", false
		}
		if selector != "" {
			selector += ","
		}
		selector += name + "=" + value
	}
	return selector, true
}
