package apimodel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Resource is a resource that the server serves.
type Resource struct {
	Group, Version, Plural, Kind string
	Status                       bool // it has the status subresource
	Namespaced                   bool
}

// Types of a change, as watchers receive them.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
)

// Change is one commit. It is shared and read-only.
type Change struct {
	Type            string
	Version         int64
	Resource        string // plural
	Namespace, Name string
	UID             string
	// Object is the state after the commit, and for a deletion the last state with the deletion's version.
	Object []byte
	Tree   map[string]any
	meta   *metav1.ObjectMeta
	// before is the state before, nil for a creation.
	before *object
}

// Model is one API server. It is not safe for concurrent use.
type Model struct {
	clock     func() time.Time
	resources []Resource
	stores    map[string]*store // by plural
	version   int64
	compacted int64
	uids      int64
	history   []Change
	closing   map[string]bool                            // namespaces that are being deleted
	admit     func(plural string, object map[string]any) // see Admit
}

// store holds the objects of one resource, by namespace/name.
type store struct {
	Resource
	traits
	objects   map[string]*object
	withdrawn bool // it is no longer served
}

// object is one state of one object. It is never changed: the next state is another object.
type object struct {
	tree map[string]any
	json []byte
	meta *metav1.ObjectMeta
}

// start is the version before the first commit. It is not 0, which has another meaning for clients.
const start = 100

// New returns an empty server. Its time is that of clock; every namespace exists.
func New(clock func() time.Time, resources ...Resource) *Model {
	w := &Model{clock: clock, resources: resources, stores: map[string]*store{}, version: start, closing: map[string]bool{}}
	for _, r := range resources {
		w.stores[r.Plural] = &store{Resource: r, traits: traitsOf(r), objects: map[string]*object{}}
	}
	return w
}

// Version returns the version of the last commit.
func (w *Model) Version() int64 { return w.version }

// Compact forgets the states before version: lists and watches at them are answered with 410.
func (w *Model) Compact(version int64) { w.compacted = max(w.compacted, min(version, w.version)) }

// Close marks a namespace as being deleted: nothing can be created in it any longer.
func (w *Model) Close(namespace string) { w.closing[namespace] = true }

// Changes returns all commits after a version, in order.
func (w *Model) Changes(after int64) []Change {
	return w.history[min(max(after-start, 0), int64(len(w.history))):]
}

// Objects returns those of one resource, by namespace and name. They are read-only.
func (w *Model) Objects(resource string) []map[string]any {
	s := w.stores[resource]
	if s == nil {
		return nil
	}
	found := make([]map[string]any, 0, len(s.objects))
	for _, key := range s.keys() {
		found = append(found, s.objects[key].tree)
	}
	return found
}

// Object returns one of them, or nil.
func (w *Model) Object(resource, namespace, name string) map[string]any {
	if s := w.stores[resource]; s != nil {
		if o := s.objects[namespace+"/"+name]; o != nil {
			return o.tree
		}
	}
	return nil
}

// Get returns a field of an object by its path; nil if it is missing.
func Get(tree map[string]any, path ...string) any {
	var value any = tree
	for _, field := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[field]
	}
	return value
}

func (s *store) keys() []string { return slices.Sorted(maps.Keys(s.objects)) }

// commit makes tree the state of an object; a nil tree deletes it. The model owns tree from then on. was is the state before.
func (w *Model) commit(s *store, was *object, tree map[string]any) *object {
	w.version++
	c := Change{Type: Modified, Version: w.version, Resource: s.Plural, before: was}
	switch {
	case tree == nil:
		c.Type, tree = Deleted, unfold(was.tree)
	case was == nil:
		c.Type = Added
	}
	metaOf(tree)["resourceVersion"] = strconv.FormatInt(w.version, 10)
	o, err := newObject(tree)
	if err != nil {
		panic(fmt.Sprintf("commit what was read before: %v", err))
	}
	c.Object, c.Tree, c.meta = o.json, o.tree, o.meta
	c.Namespace, c.Name, c.UID = o.meta.Namespace, o.meta.Name, string(o.meta.UID)
	if key := c.Namespace + "/" + c.Name; c.Type == Deleted {
		delete(s.objects, key)
	} else {
		s.objects[key] = o
	}
	w.history = append(w.history, c)
	return o
}

// newUID returns the next UID: objects are numbered.
func (w *Model) newUID() string {
	w.uids++
	return fmt.Sprintf("00000000-0000-4000-8000-%012d", w.uids)
}

func (w *Model) now() time.Time { return w.clock().UTC().Truncate(time.Second) }

func stamp(t time.Time) string { return t.Format(time.RFC3339) }

// at returns the state of a resource at an earlier version: for each object the last change until then.
func (w *Model) at(s *store, version int64) map[string]*object {
	if version >= w.version {
		return s.objects
	}
	then := maps.Clone(s.objects)
	later := w.Changes(version)
	for i := len(later) - 1; i >= 0; i-- {
		c := &later[i]
		if c.Resource != s.Plural {
			continue
		}
		if key := c.Namespace + "/" + c.Name; c.before == nil {
			delete(then, key)
		} else {
			then[key] = c.before
		}
	}
	return then
}
