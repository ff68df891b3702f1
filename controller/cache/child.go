package cache

import (
	"strings"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/internal/lean"
	"stoic/schema"
)

// child is a cached dependent: cut down to what decisions need.
type child struct {
	identity
	owned    unique.Handle[Owner] // all children of one owner share it
	created  time.Time
	deleting bool
	// annotated: the owner is named by an annotation, and may be in another namespace.
	annotated bool
	object    any // what the watch keeps of it
	// claim is nil unless Owned.Claims is set.
	claim *claim
}

// identity is what an informer needs of an object's metadata, in a quarter of the memory.
type identity struct {
	Name, Namespace string
	UID             types.UID
	ResourceVersion string
}

// GetObjectMeta lets the informer's store key and compare a child.
func (i *identity) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Name: i.Name, Namespace: i.Namespace, UID: i.UID, ResourceVersion: i.ResourceVersion}
}

// Owner is the controller owner of a child.
type Owner struct {
	UID              types.UID
	APIVersion, Kind string
	Namespace, Name  string // the namespace is the child's
}

// Is reports whether the owner is an object of a resource. Its version does not matter: the reference may have been written when another
// version was served.
func (o Owner) Is(r schema.Resource) bool {
	group, _, found := strings.Cut(o.APIVersion, "/")
	if !found {
		group = "" // the core group has a version alone
	}
	return group == r.Group && o.Kind == r.Kind
}

// owner returns the controller owner, or the zero Owner.
func (c *child) owner() Owner {
	if c.owned == (unique.Handle[Owner]{}) {
		return Owner{}
	}
	return c.owned.Value()
}

// seen returns the child as plans see it.
func (c *child) seen() schema.Child {
	return schema.Child{Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion, Created: c.created, Deleting: c.deleting, Object: c.object}
}

// through returns the same for the child of a child.
func (c *child) through(owner types.UID) schema.Child {
	seen := c.seen()
	seen.Through = owner
	return seen
}

// slimTyped keeps the metadata of an object that was read with package lean.
func slimTyped(o *lean.Object) *child {
	c := &child{identity: identity{Name: o.Name, Namespace: o.Namespace, UID: o.UID, ResourceVersion: o.ResourceVersion},
		created: o.CreationTimestamp.Time, deleting: o.DeletionTimestamp != nil}
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		c.owned = unique.Make(Owner{owner.UID, owner.APIVersion, owner.Kind, o.Namespace, owner.Name})
	}
	return c
}

// slimUntyped keeps the metadata of an untyped object. It never fails: the object may be anything that a CRD of another project accepts.
func slimUntyped(u *unstructured.Unstructured, annotation string) *child {
	var meta map[string]any
	if u != nil {
		meta, _ = u.Object["metadata"].(map[string]any)
	}
	c := &child{identity: identity{Name: textOf(meta, "name"), Namespace: textOf(meta, "namespace"),
		UID: types.UID(textOf(meta, "uid")), ResourceVersion: textOf(meta, "resourceVersion")}, deleting: textOf(meta, "deletionTimestamp") != ""}
	c.created, _ = time.Parse(time.RFC3339, textOf(meta, "creationTimestamp")) // else it is old
	owners, _ := meta["ownerReferences"].([]any)
	for _, o := range owners {
		owner, _ := o.(map[string]any)
		if controls, _ := owner["controller"].(bool); controls {
			c.owned = unique.Make(Owner{types.UID(textOf(owner, "uid")), textOf(owner, "apiVersion"), textOf(owner, "kind"), c.Namespace, textOf(owner, "name")})
		}
	}
	if annotation != "" {
		annotations, _ := meta["annotations"].(map[string]any)
		c.ownedBy(textOf(annotations, annotation))
	}
	return c
}

// ownedBy sets the owner of a child that has no controller owner and whose annotation names one.
func (c *child) ownedBy(text string) {
	apiVersion, kind, namespace, name, uid, ok := schema.ParseOwnerText(text)
	if ok && c.owner().UID == "" {
		c.annotated, c.owned = true, unique.Make(Owner{uid, apiVersion, kind, namespace, name})
	}
}
