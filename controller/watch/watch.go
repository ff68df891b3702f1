package watch

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"stoic/convert"
	"stoic/convert/versions"
	"stoic/internal/lean"
	"stoic/schema"
)

// Watch is one custom resource to serve: a value that an author passes to controller.New. It holds no state.
type Watch struct {
	Resource schema.Resource
	// Convert returns what a raw object is: an object, or a rejection. It must return for every input. If it panics nevertheless, the
	// object is rejected and the panic counted.
	Convert func(*unstructured.Unstructured) *convert.Result
	// Decide must be pure: the same observation gives the same plan, and it changes nothing that it is given.
	Decide func(schema.Observed) schema.Plan
	// Owns lists what the objects own. Watches that list the same *Owned share its cache.
	Owns []*Owned
	// Reads lists resources whose objects decisions depend on as a whole, owned or not, such as PriorityClasses. A change of one object
	// queues all objects of the watch. A process that starts waits until they are read once, or until it is known why not. Later, what
	// cannot be read is unknown (schema.Children.Unknown), which does not mean that it does not exist.
	Reads []*Read

	// Unless lists other versions of the resource: while the API server serves one of them, this watch is inactive, as both would see the
	// same objects.
	Unless []schema.Resource
	// Versions says how objects of the kind convert between its versions. Resource names the version that is served here, the hub. A
	// program converts objects for API servers if its flags say so. nil: the kind has one version.
	Versions *versions.Kind
	// Label names the kind in metrics; "" is the kind.
	Label string

	// Name names the queue in metrics; "" is the plural of the resource.
	Name string
	// Noun is what events call an object; "" is its kind.
	Noun string
	// Reasons are those of the events about the deletion of an object by a plan.
	Reasons Reasons
	// FailedReason is the reason of the event that says why an object cannot be acted on, such as a status that the API server refuses;
	// "" is the kind and FailedValidation.
	FailedReason string
	// Count is called when what a plan counts is written, and when an event that counts is sent. For an event, only resource, name,
	// namespace and UID of the object are set. It may be called from several goroutines. A panic in it is logged, and counted in the
	// engine's own metric. nil: nothing is counted.
	Count func(*schema.Head, schema.Count)
	// Cached is called once, when a controller is made, with the objects in its cache, for metrics that are computed from all of them.
	// Any goroutine may range over them at any time. There are none until all have been read, and while this process does not lead, so
	// that the numbers of several processes can be added up. nil: they are not needed.
	Cached func(all iter.Seq[*convert.Result])
}

// Owned is a resource that the objects of a watch own, and how much of its objects is remembered. Watches that share one
// *Owned share its cache.
type Owned struct {
	Resource schema.Resource
	// Selector is a label selector that the API server evaluates; "" selects all. What a plan creates must match it.
	Selector string
	// Labels are those of one owner's children. If the cache lags, only children with these labels are read from the API server; nil: all
	// that the selector selects is read.
	Labels func(owner *schema.Head) map[string]string
	// OwnerAnnotation is for children in other namespaces than their owner's, where owner references do not work: they have no controller
	// owner, but this annotation, with the value of schema.OwnerText. Garbage collection does not delete them with their owner: a
	// finalizer must. "": children have owner references. Only untyped reads see it.
	OwnerAnnotation string
	// Slim returns what the cache keeps of an object; nil: metadata alone. It may be called with anything that a CRD accepts, and must
	// not keep its argument. If it panics nevertheless, schema.Child.Object of that child is nil, and the panic is counted and logged: a
	// Decide that asserts the type of what Slim keeps then panics, too, but only for the objects that see that child.
	Slim func(*unstructured.Unstructured) any
	// SlimTyped replaces Slim for pods and services, in programs of this module: its argument has an internal type. Pods and services are
	// then read without decoding what lean.Object does not hold.
	SlimTyped func(*lean.Object) any
	// Names are the labels and annotations that SlimTyped reads; all others are missing.
	Names []string
	// Same reports whether two results of Slim lead to the same decisions: a change in between wakes no reconcile. nil:
	// reflect.DeepEqual. It is not called for children of which metadata alone is kept: every change of them counts. So does one on which
	// it panics.
	Same func(a, b any) bool
	// Through lists resources that the watch also owns. What their objects control is seen among the children, such as the pods of an
	// owned batch/v1 Job. Its changes wake the owner of that object. Labels must hold for such children as well.
	Through []schema.Resource
	// Claims selects, by their labels, the objects that one owner claims; nil, or a nil selector: it claims none. It must be pure, and is
	// called with objects that are well-formed and not being deleted. Selected objects that have no controller and are not being deleted
	// are Children.Orphans of the oldest owner that claims them, and of no other: two owners never take turns. Children of the owner that
	// it does not select are in Children.Unclaimed. Nothing is written unless a plan says so: see schema.Candidate. Labels and owner
	// references of all objects that Selector selects are kept in memory; with SlimTyped, Names must have the labels. An owner on which
	// Claims panics claims nothing. A cluster-scoped owner claims in all namespaces. An object that names its owner by OwnerAnnotation
	// has an owner, and an object that is seen through another child is not claimed.
	Claims func(owner *convert.Result) labels.Selector
	// Unwatched: objects of the resource are neither listed nor watched, so the operator needs only the permissions to create and to get
	// them. No child of it is ever seen; to create one that exists is no error. A plan may name it each time. Once it exists, its
	// creation is repeated if the same plan creates children that are not optional, if the generation or the planned object has changed,
	// and otherwise in some reconcile after a time that grows from 10 seconds to 5 minutes, for which none is queued. A deleted one is
	// created again then. While one cannot be created, neither are the children of the same plan that are not optional: no later plan
	// would create it again.
	Unwatched bool
	// Generators make the fields that schema.Object.Generate names.
	Generators map[string]Generator
	// Optional: its CRD may be absent. That concerns only the objects that need it: see schema.Children.Unknown. If the API server
	// refuses a child of an optional resource, other children are nevertheless created.
	Optional bool
	// Alternative, of an optional resource: it is one of several versions or resources of which a cluster serves one. Its absence is no
	// error, and is checked less often.
	Alternative bool
	// Relabel: a child of ours that has lost its labels gets them back. Otherwise the user of its owner gets an event.
	Relabel bool
	// Reasons are those of the events about writes.
	Reasons Reasons
}

// Generator returns fields that are put into the body of an object just before it is created, at its top level. Plans are pure, and are
// logged and compared: they must contain neither randomness nor secrets.
type Generator func() (map[string]any, error)

// Read is a resource that decisions depend on, and how much of it is remembered. Watches that share one *Read share its
// cache.
type Read struct {
	Resource schema.Resource
	Selector string // label selector; "" is all
	// Slim and Same: see Owned.
	Slim func(*unstructured.Unstructured) any
	Same func(a, b any) bool
}

// Reasons are the reasons of the events about writes of one resource; an empty one is not emitted.
type Reasons struct{ Created, CreateFailed, UpdateFailed, Deleted, DeleteFailed string }

// ReasonsOf returns reasons made of a noun and what has happened: ReasonsOf("ConfigMap").Created is "ConfigMapCreated".
func ReasonsOf(noun string) Reasons {
	return Reasons{Created: noun + "Created", CreateFailed: noun + "NotCreated", UpdateFailed: noun + "NotUpdated", Deleted: noun + "Deleted", DeleteFailed: noun + "NotDeleted"}
}

// KubernetesReasons returns the reasons that the controllers of Kubernetes use.
func KubernetesReasons() Reasons {
	return Reasons{Created: "SuccessfulCreate", CreateFailed: "FailedCreate", UpdateFailed: "FailedUpdate", Deleted: "SuccessfulDelete", DeleteFailed: "FailedDelete"}
}

// InVersions returns the watch of a kind that has these versions.
func (w Watch) InVersions(k versions.Kind) Watch {
	w.Versions = &k
	return w
}

// WithDefaults returns the watch with defaults for what is left out.
func (w Watch) WithDefaults() Watch {
	if w.Name == "" {
		w.Name = w.Resource.Plural
	}
	if w.Label == "" {
		w.Label = w.Resource.Kind
	}
	if w.Noun == "" {
		w.Noun = w.Resource.Kind
	}
	if w.FailedReason == "" {
		w.FailedReason = w.Resource.Kind + "FailedValidation"
	}
	return w
}
