package schema

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Head is what can be read of any object, well-formed or not. The cache keeps it for each object.
type Head struct {
	Resource Resource
	// Meta holds only what is used: name, namespace, UID, resourceVersion, generation, finalizers, creation and deletion time.
	// Labels, annotations and managedFields are not kept.
	Meta metav1.ObjectMeta
	// ObservedGeneration is status.observedGeneration; 0 if there is none.
	ObservedGeneration int64
	// Begun reports whether a status is on record. Objects that have begun are reconciled before those that have not.
	Begun bool
	// Status is the status as read, in the type that plans write, as a pointer; nil if the converter reads none.
	Status any
	// StatusUnfit reports that a value of the status on record does not fit its type and is missing from Status, or that a
	// condition lacks a field. Writing Status is then a change, even if it equals what was read.
	StatusUnfit bool
	// Own is what the converter of this resource adds, for rejected objects, too. The engine does not look at it.
	Own any
	// Warnings are the problems that do not keep the object from being served, in order of path. MoreWarnings counts those that are
	// not kept.
	Warnings     []Problem
	MoreWarnings int
}

// GetObjectMeta lets the informer's store key and compare a head.
func (h *Head) GetObjectMeta() metav1.Object { return &h.Meta }

// Key returns namespace/name, the key of the work queue. The namespace is empty for a cluster-scoped object.
func (h *Head) Key() string { return h.Meta.Namespace + "/" + h.Meta.Name }

// Reaches reports whether objects in a namespace may have an owner reference to this object. Garbage collection would delete a
// child in any other namespace that has one.
func (h *Head) Reaches(namespace string) bool {
	return h.Resource.Cluster || h.Meta.Namespace == namespace
}

// Rejection says why an object cannot be served, in words for the user who wrote it.
type Rejection struct {
	Problems []Problem // in order of path; never empty
	More     int       // how many are not kept
}
