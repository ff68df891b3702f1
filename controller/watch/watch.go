package watch

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"stoic/controller/lean"
	"stoic/convert"
	"stoic/convert/versions"
	"stoic/schema"
)

// Watch is one custom resource to serve: a value that an author gives to controller.New. It holds no state.
type Watch struct {
	Resource schema.Resource
	// Convert says what a raw object is: an object, or a rejection. It is total. One that panics all the same rejects the
	// object, and is counted.
	Convert func(*unstructured.Unstructured) *convert.Result
	// Decide is pure: the same observation gives the same plan, and nothing that it is given is changed.
	Decide func(schema.Observed) schema.Plan
	// Owns lists what the objects own. Watches that list the same *Owned share its cache.
	Owns []*Owned
	// Reads lists resources of which decisions depend on all objects, owned or not, such as PriorityClasses. A change of
	// one queues all objects of the watch. A process that starts waits until they are read once; after that what cannot be read is
	// unknown (schema.Children.Unknown), which is not to be taken for what is not there.
	Reads []*Read

	// Unless lists other versions of the resource: while the API server serves one of them, this watch stands back, as both would
	// see the same objects.
	Unless []schema.Resource
	// Versions says how objects of the kind convert between its versions, of which Resource names the one that is served here,
	// the hub. A program converts them for API servers then, if its flags say so. nil: the kind has one version.
	Versions *versions.Kind
	// Label is that of the kind in metrics; "" is the kind.
	Label string

	// Name is that of the queue in metrics; "" is the plural of the resource.
	Name string
	// Noun is what events call an object; "" is its kind.
	Noun string
	// Reasons are those of the events about the deletion of an object by a plan.
	Reasons Reasons
	// FailedReason is the reason of the event that an object cannot be acted on, such as a status that the API server
	// refuses; "" is the kind and FailedValidation.
	FailedReason string
	// StatusInObject: where the CRD has no status subresource, the status is written through the object itself. Otherwise
	// nothing is done for objects of such a CRD, and their authors get an event. Each such write raises metadata.generation, for
	// which status.observedGeneration allows; an event that names the generation may be sent once more. As an admission webhook may
	// change the spec with such a write, the object is reconciled after it, once in ten seconds at most.
	StatusInObject bool
	// Count is called when what a plan counts is written, and when an event that counts is sent; of the object, resource, name,
	// namespace and UID are known then. It may be called from several goroutines. A panic in it is logged, and counted in the
	// engine's own metric. nil: nothing is counted.
	Count func(*schema.Head, schema.Count)
	// Cached is called once, when a controller is made, with the objects in its cache, for metrics that are computed from all of
	// them. Any goroutine may range over them at any time. They are none while not all have been read, and while this process
	// does not lead, so that the numbers of several processes can be added up. nil: no one asks for them.
	Cached func(all iter.Seq[*convert.Result])
}

// Owned is a resource that the objects of a watch own, and how much of its objects is remembered. Watches that share one
// *Owned share its cache.
type Owned struct {
	Resource schema.Resource
	// Selector is a label selector that the API server evaluates; "" selects all. What a plan creates must match it.
	Selector string
	// Labels are those of one owner's children. With them children are read from the API server where the cache lags; nil:
	// all that the selector selects is read.
	Labels func(owner *schema.Head) map[string]string
	// OwnerAnnotation is set for children that stand in other namespaces than their owner, where owner references do not
	// reach: they have no controller owner, but this annotation, with the value of schema.OwnerText. Nothing collects them
	// when their owner goes: a finalizer must. "": children have owner references. Only untyped reads see it.
	OwnerAnnotation string
	// Slim is what the cache keeps of an object; nil: metadata alone. It may be called with anything that a CRD lets
	// through, and may not keep what it is given. Of a child on which it panics all the same schema.Child.Object is nil, and the panic is
	// counted and logged: a Decide that asserts the type of what Slim keeps then panics, too, for the objects that see that child alone.
	Slim func(*unstructured.Unstructured) any
	// SlimTyped takes the place of Slim for pods and services, which are then read without decoding what lean.Object does
	// not hold.
	SlimTyped func(*lean.Object) any
	// Names are the labels and annotations that SlimTyped reads; others are not there.
	Names []string
	// Same says whether two of what Slim returns lead to the same decisions: a change in between wakes no reconcile; nil:
	// reflect.DeepEqual. It is not asked for children of which metadata alone is kept: of them every change counts. So does one on
	// which it panics.
	Same func(a, b any) bool
	// Through lists resources that the watch owns, too. What an object of theirs controls is seen among the children: the
	// pods of an owned batch/v1 Job. Its changes wake the owner of that object. Labels must hold for such children as well.
	Through []schema.Resource
	// Claims selects, by their labels, the objects that one owner claims; nil, and a nil selector: it claims none. It is pure, and
	// is called with objects that are well-formed and not being deleted. What it selects of the objects that have no controller
	// and are not being deleted are Children.Orphans of the oldest owner that claims them, and of no other: two owners never
	// take turns. What it does not select of the owner's children is in Children.Unclaimed. Nothing is written unless a plan
	// says so: see schema.Candidate. Labels and owner references of all objects that Selector selects are kept in memory; with
	// SlimTyped, Names must have the labels. An owner on which it panics claims nothing. A cluster-scoped owner claims in all namespaces. What names its owner by
	// OwnerAnnotation has one, and what is seen through another child is not claimed.
	Claims func(owner *convert.Result) labels.Selector
	// Unwatched: objects of the resource are neither listed nor watched, so the operator needs the permissions to create and
	// to get them, and no other. No child of it is ever seen; to create one that is there already is no error. A plan may name it
	// each time: once it is there, it is asked for again with children that are not optional and that the same plan creates, if the
	// generation or what is planned for it has changed, and otherwise in some reconcile after a time that grows from 10 seconds to 5
	// minutes, for which none is queued. One that was deleted is made again then. While one cannot be created, neither is any child
	// that is not optional and that the same plan creates: no later plan would miss the first.
	Unwatched bool
	// Generators make the fields that schema.Object.Generate names.
	Generators map[string]Generator
	// Optional: its CRD may be absent. That is a matter of the objects that need it: see schema.Children.Unknown. A child of
	// an optional resource that the API server refuses keeps no other child from being created.
	Optional bool
	// Alternative, of an optional resource: it is one of several versions or resources of which a cluster serves one. That it is
	// absent is no trouble, and it is looked for less often.
	Alternative bool
	// Relabel: a child of ours that has lost its labels gets them back. Otherwise its author gets an event.
	Relabel bool
	// Reasons of the events about writes.
	Reasons Reasons
}

// Generator returns fields that are put into the body of an object just before it is created, at its top level. Plans are
// pure, and are logged and compared: neither randomness nor secrets may stand in them.
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

// ReasonsOf a noun are its name and what has happened: ReasonsOf("ConfigMap").Created is "ConfigMapCreated".
func ReasonsOf(noun string) Reasons {
	return Reasons{Created: noun + "Created", CreateFailed: noun + "NotCreated", UpdateFailed: noun + "NotUpdated", Deleted: noun + "Deleted", DeleteFailed: noun + "NotDeleted"}
}

// KubernetesReasons are those that the controllers of Kubernetes give.
func KubernetesReasons() Reasons {
	return Reasons{Created: "SuccessfulCreate", CreateFailed: "FailedCreate", UpdateFailed: "FailedUpdate", Deleted: "SuccessfulDelete", DeleteFailed: "FailedDelete"}
}

// InVersions is the watch of a kind that has these versions.
func (w Watch) InVersions(k versions.Kind) Watch {
	w.Versions = &k
	return w
}

// WithDefaults fills in what is left out.
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
