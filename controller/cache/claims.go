package cache

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"stoic/convert"
	"stoic/internal/lean"
	"stoic/schema"
)

// claim is what is kept of a child for owners that claim objects by their labels.
type claim struct {
	labels schema.Labels
	owners []metav1.OwnerReference
}

// byOrphan finds objects without controller by their namespace.
const byOrphan = "orphan"

func indexByOrphan(obj any) ([]string, error) {
	if c, ok := obj.(*child); ok && c.isOrphan() {
		return []string{c.Namespace}, nil
	}
	return nil, nil // as in indexByOwner
}

// isOrphan reports whether a child has no controller and may be given one.
func (c *child) isOrphan() bool { return c.claim != nil && c.owner().UID == "" && !c.deleting }

func (c *child) candidate() schema.Candidate {
	return schema.Candidate{Child: c.seen(), Labels: c.claim.labels, Owners: c.claim.owners}
}

func (d *Dependents) indexers() cache.Indexers {
	if d.Claims == nil {
		return cache.Indexers{byOwner: indexByOwner}
	}
	return cache.Indexers{byOwner: indexByOwner, byOrphan: indexByOrphan}
}

const slimPanicked = "Slim panicked; decisions see the object without what Slim keeps of it"

func (d *Dependents) typed(o *lean.Object) *child {
	c := slimTyped(o)
	if d.SlimTyped != nil {
		c.object = guarded(d.panics, slimPanicked, c, func() any { return d.SlimTyped(o) })
	}
	if d.Claims != nil {
		c.claim = &claim{schema.LabelsOf(o.Labels), o.OwnerReferences}
	}
	return c
}

func (d *Dependents) untyped(u *unstructured.Unstructured) *child {
	c := slimUntyped(u, d.OwnerAnnotation)
	if d.Slim != nil && u != nil {
		c.object = guarded(d.panics, slimPanicked, c, func() any { return d.Slim(u) })
	}
	if d.Claims != nil && u != nil {
		c.claim = &claim{schema.LabelsOf(u.GetLabels()), u.GetOwnerReferences()}
	}
	return c
}

// OnOrphan sets what is called with each object without controller when it is created, changes or loses its controller. Call it before
// Serve; it has an effect only if Owned.Claims is set.
func (d *Dependents) OnOrphan(do func(schema.Candidate)) { d.orphan = do }

// EachOrphan calls do for the objects without controller in a namespace; "" is all.
func (d *Dependents) EachOrphan(namespace string, do func(schema.Candidate)) {
	if informer := d.informer.Load(); informer != nil {
		d.eachOrphanOf(informer, namespace, do)
	}
}

func (d *Dependents) eachOrphanOf(informer *cache.SharedIndexInformer, namespace string, do func(schema.Candidate)) {
	if d.Claims == nil {
		return
	}
	namespaces := []string{namespace}
	if namespace == "" {
		namespaces = (*informer).GetIndexer().ListIndexFuncValues(byOrphan)
	}
	for _, namespace := range namespaces {
		objects, err := (*informer).GetIndexer().ByIndex(byOrphan, namespace)
		if err != nil {
			return // as in Of
		}
		for _, obj := range objects {
			if c, ok := obj.(*child); ok && c.isOrphan() {
				do(c.candidate())
			}
		}
	}
}

// Claims returns the selector of what an object claims of a resource. It is nil, and the object claims nothing, if the object is
// malformed or being deleted, or if Owned.Claims panics.
func (o *Objects) Claims(d *Dependents, object *convert.Result) labels.Selector {
	if d.Claims == nil || object == nil || object.Object == nil || object.Meta.DeletionTimestamp != nil {
		return nil
	}
	return guarded(o.panics, "Claims panicked; the object claims nothing", object, func() labels.Selector { return d.Claims(object) })
}

// ReachOf returns the namespace in which an owner may own objects; "" is all.
func ReachOf(owner *schema.Head) string {
	if owner.Resource.Cluster {
		return ""
	}
	return owner.Meta.Namespace
}

// Claim sorts what Of and Read found by the labels that the owner claims; nil: it claims nothing, and keeps what it has. isContested
// reports whether another owner has the better claim to an orphan. Orphans are sorted by name, so that a plan that adopts some of them is
// the same each time.
func Claim(found *schema.Children, claims labels.Selector, isContested func(schema.Candidate) bool) {
	children, orphans := found.Unclaimed, found.Orphans
	found.Unclaimed, found.Orphans = nil, nil
	for _, c := range children {
		if claims == nil || claims.Matches(c.Labels) {
			found.Items = append(found.Items, c.Child)
		} else {
			found.Unclaimed = append(found.Unclaimed, c)
		}
	}
	for _, o := range orphans {
		if claims != nil && claims.Matches(o.Labels) && !isContested(o) {
			found.Orphans = append(found.Orphans, o)
		}
	}
	slices.SortFunc(found.Orphans, func(a, b schema.Candidate) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}
