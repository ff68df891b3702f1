package schema

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Observed is all that a decision may depend on. No one writes to what it points to.
type Observed struct {
	Head *Head
	// Object is what the converter made of the object, and Rejection why it made nothing: exactly one is set.
	Object    any
	Rejection *Rejection

	// Children are the dependents that this very object controls (by UID), one entry for each resource that the watch
	// owns, in that order. Those of a resource with Owned.Through are beside them what such dependents control.
	Children []Children
	// Reads are the objects of other resources that the decision depends on, one entry for each that the watch reads, in
	// that order.
	Reads []Children
	// Refused are dependents of the object that the API server refused to create when they were asked for last, the first few
	// of them in the order of their names. This process remembers them until they are created, and at most ten minutes after the
	// last try; the reconcile in which one is refused is followed by another, which sees it.
	Refused []Refusal

	Now time.Time
	// WrittenAt is when this process last wrote the object itself; zero if it never did, or does not remember.
	WrittenAt time.Time
	// PendingSince is since when this process has known of a change that the status does not report yet; zero if there
	// is none. See Plan.Pending.
	PendingSince time.Time
	// KeepsGeneration: the served schema keeps status.observedGeneration; otherwise its absence is no reason to write.
	KeepsGeneration bool
}

// Of returns the children of one resource, in any order.
func (o *Observed) Of(r Resource) []Child {
	for i := range o.Children {
		if o.Children[i].Resource == r {
			return o.Children[i].Items
		}
	}
	return nil
}

// Child returns the child of this name, or nil. The namespace is empty for a cluster-scoped one.
func (o *Observed) Child(r Resource, namespace, name string) *Child {
	children := o.Of(r)
	for i := range children {
		if children[i].Namespace == namespace && children[i].Name == name {
			return &children[i]
		}
	}
	return nil
}

// Staying returns the children of one resource that are not being deleted, by name: for watches whose children all stand in one
// namespace.
func (o *Observed) Staying(r Resource) map[string]Child {
	children := o.Of(r)
	found := make(map[string]Child, len(children))
	for _, c := range children {
		if !c.Deleting {
			found[c.Name] = c
		}
	}
	return found
}

// RefusalOf is what the API server said when one of these objects, which do not exist, was to be created last; nil if none of
// them was refused.
func (o *Observed) RefusalOf(objects []Object) *Refusal {
	for i, r := range o.Refused {
		for _, wanted := range objects {
			if wanted.Resource == r.Resource && wanted.Namespace == r.Namespace && wanted.Name == r.Name {
				return &o.Refused[i]
			}
		}
	}
	return nil
}

// Read returns what is known of a resource that the watch reads.
func (o *Observed) Read(r Resource) Children {
	for i := range o.Reads {
		if o.Reads[i].Resource == r {
			return o.Reads[i]
		}
	}
	return Children{Resource: r, Unknown: true}
}

// Children are objects of one resource: the dependents of one object, or all that are read.
type Children struct {
	Resource Resource
	Items    []Child
	// Orphans have no controller, and Unclaimed are controlled by the object but not among Items: their labels are such that
	// the object claims the former, and the latter no more. Both are empty unless Owned.Claims is set.
	Orphans, Unclaimed []Candidate
	// Unknown: the operator cannot see objects of this resource now. Why says the reason in words for the author of the
	// object; it is empty while that is being found out.
	Unknown bool
	Why     string
	// Absent: it is unknown because the API server does not serve the resource.
	Absent bool
}

// Deletion of the child, if it still is the one that was seen.
func (c Child) Deletion(r Resource) Deletion {
	return Deletion{Resource: r, Namespace: c.Namespace, Name: c.Name, UID: c.UID}
}

// DeletionAsSeen is a deletion of the child if nobody has changed it since: one that somebody else has taken over in the meantime
// stays. It is for children that hardly ever change; of others the deletion might never find the moment.
func (c *Child) DeletionAsSeen(r Resource) Deletion {
	d := c.Deletion(r)
	d.ResourceVersion = c.ResourceVersion
	return d
}

// Patch merges fields into the child, if it still is as it was seen: null takes a field out, and what is not named stays. Of metadata they
// may have labels, annotations and finalizers, as a map[string]any; with others Patch panics.
func (c *Child) Patch(r Resource, fields map[string]any) Patch {
	meta := map[string]any{"uid": c.UID, "resourceVersion": c.ResourceVersion}
	maps.Copy(meta, metadataIn(fields))
	body := map[string]any{}
	maps.Copy(body, fields)
	body["metadata"] = meta
	return Patch{Resource: r, Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Body: JSON(body)}
}

// PatchStatus does the same through the status subresource.
func (c *Child) PatchStatus(r Resource, status map[string]any) Patch {
	p := c.Patch(r, map[string]any{"status": status})
	p.Subresource = "status"
	return p
}

// Candidate is an object that may get a controller, or lose it.
type Candidate struct {
	Child
	Labels Labels
	// Owners are all owner references that it has.
	Owners []metav1.OwnerReference
}

// Adopt makes an owner the controller of the object, if that still has none and is as it was seen. Just before, the engine makes
// sure that the owner is there and not being deleted: garbage collection would take what an owner that is gone adopts.
func (c *Candidate) Adopt(r Resource, owner *Head) Patch {
	p := c.owned(r, append(c.without(owner), OwnerReference(owner)))
	p.Adopts = true
	return p
}

// Release takes the owner away from the object, which then stays as it is and is nobody's.
func (c *Candidate) Release(r Resource, owner *Head) Patch { return c.owned(r, c.without(owner)) }

func (c *Candidate) without(owner *Head) []metav1.OwnerReference {
	return slices.DeleteFunc(slices.Clone(c.Owners), func(o metav1.OwnerReference) bool { return o.UID == owner.Meta.UID })
}

func (c *Candidate) owned(r Resource, owners []metav1.OwnerReference) Patch {
	p := c.Patch(r, nil)
	p.Body = JSON(map[string]any{"metadata": map[string]any{"uid": c.UID, "resourceVersion": c.ResourceVersion, "ownerReferences": owners}})
	return p
}

// Child is one dependent as the cache keeps it.
type Child struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	Created         time.Time // zero if the API server did not say
	Deleting        bool      // it has a deletionTimestamp
	// Through is the UID of the child that controls this one, where that is not the object itself; see Owned.Through.
	Through types.UID
	// Object is what the watch keeps of it; nil if that is metadata alone.
	Object any
}
