package schema

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Observed is all that a decision may depend on. What it points to is never written.
type Observed struct {
	Head *Head
	// Object is what the converter made of the object; Rejection says why it made nothing. Exactly one of them is set.
	Object    any
	Rejection *Rejection

	// Children are the dependents that this object controls (by UID), with one entry for each resource that the watch owns, in that
	// order. For a resource with Owned.Through they include what dependents of those resources control.
	Children []Children
	// Reads are the objects of other resources that the decision depends on, with one entry for each that the watch reads, in that
	// order.
	Reads []Children
	// Refused are the dependents that the API server refused at the last attempt to create them: at most 20, sorted by resource,
	// namespace and name. This process remembers a refusal until the dependent is created, and at most ten minutes after the last
	// attempt. The reconcile in which one is refused is followed by another, which sees it.
	Refused []Refusal

	Now time.Time
	// WrittenAt is when this process last wrote the object itself. It is zero if it never did, or does not remember.
	WrittenAt time.Time
	// PendingSince is since when this process has known of a change that the status does not report yet. It is zero if there is
	// none. See Plan.Pending.
	PendingSince time.Time
	// KeepsGeneration: the served schema keeps status.observedGeneration. Otherwise its absence is no reason to write.
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

// Child returns the child of this name, or nil. The namespace is empty for a cluster-scoped child.
func (o *Observed) Child(r Resource, namespace, name string) *Child {
	children := o.Of(r)
	for i := range children {
		if children[i].Namespace == namespace && children[i].Name == name {
			return &children[i]
		}
	}
	return nil
}

// Staying returns the children of one resource that are not being deleted, by name. It is for watches whose children are all in one
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

// RefusalOf returns the first refusal of one of these objects, which do not exist; nil if none of them was refused.
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

// Children are objects of one resource: the dependents of one object, or all objects that the watch reads.
type Children struct {
	Resource Resource
	Items    []Child
	// Version is a resourceVersion that the cache had reached before these were taken from it: they are at least as new. It is empty
	// if they were read from the API server, or are not watched.
	Version string
	// Orphans have no controller, and the object claims them by their labels. Unclaimed are controlled by the object, but it does
	// not claim their labels; they are not among Items. Both are empty unless Owned.Claims is set.
	Orphans, Unclaimed []Candidate
	// Unknown: the operator cannot see objects of this resource now. Why gives the reason, in words for the user who wrote the
	// object. It is empty until the reason is known.
	Unknown bool
	Why     string
	// Absent: Unknown is set because the API server does not serve the resource.
	Absent bool
}

// Deletion returns a deletion of the child, with its UID as a precondition.
func (c Child) Deletion(r Resource) Deletion {
	return Deletion{Resource: r, Namespace: c.Namespace, Name: c.Name, UID: c.UID}
}

// DeletionAsSeen returns a deletion whose precondition is the resourceVersion, too: a child that another client has changed
// meanwhile stays. It is for children that rarely change. The deletion of any other child might always fail with a conflict.
func (c *Child) DeletionAsSeen(r Resource) Deletion {
	d := c.Deletion(r)
	d.ResourceVersion = c.ResourceVersion
	return d
}

// Patch returns a merge patch of the child, with its UID and resourceVersion as preconditions: null removes a field, and fields
// that are not named stay. Of metadata, fields may set labels, annotations and finalizers, as a map[string]any; with others Patch
// panics.
func (c *Child) Patch(r Resource, fields map[string]any) Patch {
	meta := map[string]any{"uid": c.UID, "resourceVersion": c.ResourceVersion}
	maps.Copy(meta, metadataIn(fields))
	body := map[string]any{}
	maps.Copy(body, fields)
	body["metadata"] = meta
	return Patch{Resource: r, Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Body: JSON(body)}
}

// PatchStatus returns such a patch of the status subresource.
func (c *Child) PatchStatus(r Resource, status map[string]any) Patch {
	p := c.Patch(r, map[string]any{"status": status})
	p.Subresource = "status"
	return p
}

// Candidate is an object that may be adopted or released.
type Candidate struct {
	Child
	Labels Labels
	// Owners are all owner references that it has.
	Owners []metav1.OwnerReference
}

// Adopt returns a patch that makes an owner the controller of the object, if it still has none and has not changed. The engine
// first makes sure that the owner exists and is not being deleted: garbage collection would delete what a deleted owner adopts.
func (c *Candidate) Adopt(r Resource, owner *Head) Patch {
	p := c.owned(r, append(c.without(owner), OwnerReference(owner)))
	p.Adopts = true
	return p
}

// Release returns a patch that removes the owner reference, so that the object has no controller.
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
	// Through is the UID of the child that controls this one, if the object itself does not; see Owned.Through.
	Through types.UID
	// Object is what the watch keeps of the child; nil if it keeps only metadata.
	Object any
}
