package schema

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Head is what can be read of any object, well-formed or not. It is what the cache needs to hold an object.
type Head struct {
	Resource Resource
	// Meta is cut to what is used: name, namespace, UID, resourceVersion, generation, finalizers, creation and
	// deletion time. Labels, annotations and managedFields are not kept.
	Meta metav1.ObjectMeta
	// ObservedGeneration is status.observedGeneration; 0 if there is none.
	ObservedGeneration int64
	// Begun: there is a status on record. Objects that have begun are reconciled before those that have not.
	Begun bool
	// Status is the status as read, in the type that plans write, as a pointer; nil if the converter reads none.
	Status any
	// StatusUnfit: a value of the status on record does not fit the type of Status, which lacks it, or a condition lacks a field. To
	// write what Status says is a change then.
	StatusUnfit bool
	// Own is what the converter of this resource adds, of rejected objects too; the engine does not look at it.
	Own any
	// Warnings are the problems that do not keep the object from being served, in order of path; MoreWarnings counts
	// those that are not kept.
	Warnings     []Problem
	MoreWarnings int
}

// GetObjectMeta lets the informer's store key and compare a head.
func (h *Head) GetObjectMeta() metav1.Object { return &h.Meta }

// Key is namespace/name, the form that the queue uses; of a cluster-scoped object the namespace is empty.
func (h *Head) Key() string { return h.Meta.Namespace + "/" + h.Meta.Name }

// Reaches says whether an owner reference to the object holds in a namespace. In all others garbage collection would
// remove a child that has one.
func (h *Head) Reaches(namespace string) bool {
	return h.Resource.Cluster || h.Meta.Namespace == namespace
}

// Rejection is why an object cannot be served, addressed to its author.
type Rejection struct {
	Problems []Problem // in order of path; never empty
	More     int       // how many are not kept
}
