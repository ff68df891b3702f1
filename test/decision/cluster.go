package decision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"stoic/controller"
	"stoic/schema"
)

// Key identifies an object.
type Key struct{ Kind, Namespace, Name string }

// KeyOf returns the key of an object.
func KeyOf(u *unstructured.Unstructured) Key { return Key{u.GetKind(), u.GetNamespace(), u.GetName()} }

// Objects are what exists at one version. They are read-only.
type Objects map[Key]*unstructured.Unstructured

// Cluster holds objects and all their versions. It fails its test if an operator breaks an assumption of the engine. Only one
// goroutine may use it.
type Cluster struct {
	T interface {
		Helper()
		Fatalf(string, ...any)
	}
	Watches []controller.Watch
	// Versions are all states; the last one is current.
	Versions []Objects
	// Deleted is called for each deletion of a plan, with what was seen when it was decided; nil: it is not called.
	Deleted func(seen Objects, by, gone *unstructured.Unstructured)
	// Created is called for each object that a plan has created, with what existed before; nil: it is not called.
	Created func(before Objects, by, made *unstructured.Unstructured)

	uids int
	// wrote is the version of the last write for an object: the engine shows nothing older.
	wrote   map[types.UID]int
	refused map[types.UID][]schema.Refusal
}

// Clock returns the time of every decision.
func Clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Now returns what exists.
func (c *Cluster) Now() Objects {
	if len(c.Versions) == 0 {
		return nil
	}
	return c.Versions[len(c.Versions)-1]
}

// put makes a new version with this state of an object, or without the object.
func (c *Cluster) put(at Key, u *unstructured.Unstructured) {
	next := maps.Clone(c.Now())
	if next == nil {
		next = Objects{}
	}
	if u == nil {
		delete(next, at)
	} else {
		u.SetResourceVersion(fmt.Sprint(len(c.Versions) + 1))
		next[at] = u
	}
	c.Versions = append(c.Versions, next)
}

// Create creates an object, unless the name is taken.
func (c *Cluster) Create(u *unstructured.Unstructured) (made bool) {
	if c.Now()[KeyOf(u)] != nil {
		return false
	}
	u = u.DeepCopy()
	c.uids++
	u.SetUID(types.UID(fmt.Sprint("uid-", c.uids)))
	u.SetGeneration(1)
	u.SetCreationTimestamp(metav1.NewTime(Clock()))
	c.put(KeyOf(u), u)
	return true
}

// Edit sets one top-level field of an object, if it exists. A change of the spec is a new generation.
func (c *Cluster) Edit(at Key, field string, value any) {
	if c.Now()[at] == nil {
		return
	}
	u := c.Now()[at].DeepCopy()
	if u.Object[field] = value; value == nil {
		delete(u.Object, field)
	}
	if field == "spec" {
		u.SetGeneration(u.GetGeneration() + 1)
	}
	c.put(at, u)
}

// Delete deletes an object. With a finalizer the object stays, and is being deleted.
func (c *Cluster) Delete(at Key) {
	u := c.Now()[at]
	switch {
	case u == nil:
	case len(u.GetFinalizers()) == 0:
		c.put(at, nil)
	case u.GetDeletionTimestamp() == nil:
		u, now := u.DeepCopy(), metav1.NewTime(Clock())
		u.SetDeletionTimestamp(&now)
		c.put(at, u)
	}
}

// Release removes the finalizers of an object. If it is being deleted, it no longer exists then.
func (c *Cluster) Release(at Key) {
	if u := c.Now()[at]; u != nil && u.GetDeletionTimestamp() != nil {
		c.put(at, nil)
	} else if u != nil {
		u = u.DeepCopy()
		u.SetFinalizers(nil)
		c.put(at, u)
	}
}

// Collect is garbage collection: an object whose owner does not exist is deleted.
func (c *Cluster) Collect() {
	for again := true; again; {
		again = false
		uids := map[types.UID]bool{}
		for _, u := range c.Now() {
			uids[u.GetUID()] = true
		}
		for _, at := range c.Keys("") {
			u := c.Now()[at]
			if owner := metav1.GetControllerOf(u); owner != nil && !uids[owner.UID] && u.GetDeletionTimestamp() == nil {
				c.Delete(at)
				again = true
			}
		}
	}
}

// Keys returns those of a kind, or all for "", in their order.
func (c *Cluster) Keys(kind string) []Key {
	var all []Key
	for at := range c.Now() {
		if kind == "" || at.Kind == kind {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Oldest returns the oldest version on which the engine lets a decision about an object be carried out: no older than the object
// is now, and no older than its last write for the object.
func (c *Cluster) Oldest(at Key) int {
	oldest, now := len(c.Versions)-1, c.Now()[at]
	if now == nil {
		return oldest
	}
	for oldest > c.wrote[now.GetUID()] && oldest > 0 && c.Versions[oldest-1][at] != nil && c.Versions[oldest-1][at].GetResourceVersion() == now.GetResourceVersion() {
		oldest--
	}
	return oldest
}

// WatchOf returns the watch of a kind.
func (c *Cluster) WatchOf(kind string) controller.Watch {
	c.T.Helper()
	for _, w := range c.Watches {
		if w.Resource.Kind == kind {
			return w
		}
	}
	c.T.Fatalf("no watch of %s", kind)
	return controller.Watch{}
}

// Observe combines an object and what it owns as the engine does.
func (c *Cluster) Observe(u *unstructured.Unstructured, all Objects) schema.Observed {
	c.T.Helper()
	w := c.WatchOf(u.GetKind())
	result := w.Convert(u)
	seen := schema.Observed{Head: result.Head, Object: result.Object, Rejection: result.Rejection, Refused: c.refused[u.GetUID()], Now: Clock(), KeepsGeneration: true}
	for _, owned := range w.Owns {
		selector, err := labels.Parse(owned.Selector)
		if err != nil {
			c.T.Fatalf("the selector of %s: %v", owned.Resource.Plural, err)
		}
		children := schema.Children{Resource: owned.Resource}
		for _, d := range all {
			owner := metav1.GetControllerOf(d)
			if d.GetKind() != owned.Resource.Kind || owner == nil || owner.UID != u.GetUID() || d.GetNamespace() != u.GetNamespace() || !selector.Matches(labels.Set(d.GetLabels())) {
				continue
			}
			children.Items = append(children.Items, schema.Child{Namespace: d.GetNamespace(), Name: d.GetName(), UID: d.GetUID(), ResourceVersion: d.GetResourceVersion(),
				Created: d.GetCreationTimestamp().Time, Deleting: d.GetDeletionTimestamp() != nil, Object: owned.Slim(d)})
		}
		seen.Children = append(seen.Children, children)
	}
	return seen
}

// Reconcile decides about an object by what is seen at a version, and makes at most so many writes: then the process is killed.
// It returns how many were made, and whether there was nothing more to write.
func (c *Cluster) Reconcile(at Key, version, most int) (writes int, settled bool) {
	c.T.Helper()
	u := c.Versions[version][at]
	if u == nil {
		return 0, true
	}
	plan := c.WatchOf(at.Kind).Decide(c.Observe(u, c.Versions[version]))
	steps := c.steps(at, version, plan)
	for i, step := range steps {
		if i == most {
			return i, false
		}
		if step() {
			c.noteWrite(u.GetUID())
		}
	}
	return len(steps), len(steps) == 0
}

func (c *Cluster) noteWrite(uid types.UID) {
	if c.wrote == nil {
		c.wrote = map[types.UID]int{}
	}
	c.wrote[uid] = len(c.Versions) - 1
}

// steps returns the writes of a plan, in their order. Each reports whether it changed anything.
func (c *Cluster) steps(at Key, version int, plan schema.Plan) (steps []func() bool) {
	by := c.Versions[version][at]
	if len(plan.AddFinalizers)+len(plan.RemoveFinalizers) > 0 || plan.Annotate != nil {
		c.T.Fatalf("this model has no finalizers and annotations of operators")
	}
	if plan.Status != nil {
		steps = append(steps, func() bool {
			raw := map[string]any{}
			if err := json.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
				c.T.Fatalf("the status: %v", err)
			}
			c.Edit(at, "status", raw)
			return true
		})
	}
	for _, d := range plan.Delete {
		steps = append(steps, func() bool { return c.remove(version, by, d) })
	}
	for _, p := range plan.Patch {
		steps = append(steps, func() bool { return c.patch(p) })
	}
	for _, o := range plan.Create {
		steps = append(steps, func() bool { return c.create(by, o) })
	}
	return steps
}

// remove does nothing if there is another object by now.
func (c *Cluster) remove(version int, by *unstructured.Unstructured, d schema.Deletion) bool {
	at := Key{d.Resource.Kind, d.Namespace, d.Name}
	u := c.Now()[at]
	if u == nil || u.GetUID() != d.UID {
		return false
	}
	if owner := metav1.GetControllerOf(u); owner == nil || owner.UID != by.GetUID() {
		c.T.Fatalf("deletes %v, which is not its own", at)
	}
	if c.Deleted != nil {
		c.Deleted(c.Versions[version], by, u)
	}
	c.Delete(at)
	return true
}

// patch does nothing if the object has another version by now.
func (c *Cluster) patch(p schema.Patch) bool {
	at := Key{p.Resource.Kind, p.Namespace, p.Name}
	u := c.Now()[at]
	if u == nil || u.GetUID() != p.UID || u.GetResourceVersion() != p.ResourceVersion {
		return false
	}
	var body map[string]any
	if err := json.Unmarshal(p.Body, &body); err != nil {
		c.T.Fatalf("a patch: %v", err)
	}
	delete(body, "metadata")
	u = u.DeepCopy()
	merge(u.Object, body)
	u.SetGeneration(u.GetGeneration() + 1)
	c.put(at, u)
	return true
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for field, value := range patch {
		below, is := value.(map[string]any)
		if found, both := into[field].(map[string]any); is && both {
			merge(found, below)
		} else if value == nil {
			delete(into, field)
		} else {
			into[field] = value
		}
	}
}

// create does nothing if the name is taken. Later decisions know of a name that another owner has.
func (c *Cluster) create(by *unstructured.Unstructured, o schema.Object) bool {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.Body, &u.Object); err != nil {
		c.T.Fatalf("a body: %v", err)
	}
	if at := KeyOf(u); at != (Key{o.Resource.Kind, o.Namespace, o.Name}) || u.GetAPIVersion() != o.Resource.APIVersion() {
		c.T.Fatalf("creates %v as %s of %v", at, o.Name, o.Resource)
	}
	if owner := metav1.GetControllerOf(u); owner == nil || owner.UID != by.GetUID() || owner.Name != by.GetName() {
		c.T.Fatalf("creates %s for %v", o.Name, owner)
	}
	before := c.Now()
	if c.Create(u) {
		if c.Created != nil {
			c.Created(before, by, u)
		}
		return true
	}
	if owner := metav1.GetControllerOf(c.Now()[KeyOf(u)]); owner == nil || owner.Name != by.GetName() {
		if c.refused == nil {
			c.refused = map[types.UID][]schema.Refusal{}
		}
		c.refused[by.GetUID()] = []schema.Refusal{{Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, Cause: schema.CauseNameTaken, Message: "it is somebody else's", Since: Clock()}}
	}
	return false
}
