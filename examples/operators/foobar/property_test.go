package foobar

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"stoic/controller"
	"stoic/schema"
)

// cluster holds one FooBar, and the ConfigMaps of two namespaces.
type cluster struct {
	t      *rapid.T
	watch  controller.Watch
	foobar *unstructured.Unstructured // nil: deleted
	maps   map[string]*unstructured.Unstructured
	writes int // made so far by plans
	crash  int // no further write of the plan is made once writes reaches it
	uids   int
}

// ours returns the ConfigMaps of the operator: namespace/name.
func (w *cluster) ours() []string {
	var found []string
	for key, c := range w.maps {
		if c.GetLabels()[label] == "foobar" {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// write counts a write, and reports whether it is executed, as the process has not crashed yet.
func (w *cluster) write() bool {
	if w.writes >= w.crash {
		return false
	}
	w.writes++
	return true
}

// reconcile decides, and executes the plan in the order of its fields, up to the crash. It reports whether there was
// nothing to write.
func (w *cluster) reconcile() (settled bool) {
	if w.foobar == nil {
		return true
	}
	all := make([]*unstructured.Unstructured, 0, len(w.maps))
	for _, c := range w.maps {
		all = append(all, c)
	}
	seen := observe(w.watch, w.foobar, all)
	plan := w.watch.Decide(seen)
	has := w.foobar.GetFinalizers()
	if len(plan.AddFinalizers) > 0 && !slices.Contains(has, finalizer) {
		if !w.write() {
			return false
		}
		if w.foobar.GetDeletionTimestamp() != nil {
			w.t.Fatalf("adds a finalizer to an object that is being deleted")
		}
		w.foobar.SetFinalizers(append(has, finalizer))
	}
	if plan.Status != nil {
		if !w.write() {
			return false
		}
		raw := map[string]any{}
		if err := json.Unmarshal(schema.JSON(plan.Status), &raw); err != nil {
			w.t.Fatal(err)
		}
		w.foobar.Object["status"] = raw
	}
	for _, d := range plan.Delete {
		if !w.write() {
			return false
		}
		w.remove(seen, d)
	}
	for _, p := range plan.Patch {
		if !w.write() {
			return false
		}
		var body map[string]any
		if err := json.Unmarshal(p.Body, &body); err != nil {
			w.t.Fatal(err)
		}
		c := w.maps[p.Namespace+"/"+p.Name]
		if !w.owns(c) {
			w.t.Fatalf("writes %v, which is not its own", c)
		}
		c.Object["data"] = body["data"]
	}
	for _, c := range plan.Create {
		if !w.write() {
			return false
		}
		w.create(seen, c)
	}
	if len(plan.RemoveFinalizers) > 0 && slices.Contains(w.foobar.GetFinalizers(), finalizer) {
		if !w.write() {
			return false
		}
		w.foobar = nil
		return false
	}
	return plan.Status == nil && len(plan.Delete)+len(plan.Patch)+len(plan.Create) == 0
}

// remove checks the promise of a deletion: unless the FooBar itself is being deleted, the ConfigMap in its status exists and
// stays.
func (w *cluster) remove(seen schema.Observed, d schema.Deletion) {
	key := d.Namespace + "/" + d.Name
	c := w.maps[key]
	if c == nil || c.GetUID() != d.UID || !w.owns(c) || c.GetDeletionTimestamp() != nil {
		w.t.Fatalf("deletes %s, which is not the one that was seen, not its own, or deleted already", key)
	}
	if seen.Head.Meta.DeletionTimestamp == nil {
		ns, _, _ := unstructured.NestedString(w.foobar.Object, "status", "targetNamespace")
		name, _, _ := unstructured.NestedString(w.foobar.Object, "status", "target")
		if recorded := ns + "/" + name; recorded == key || w.maps[recorded] == nil || !w.owns(w.maps[recorded]) {
			w.t.Fatalf("deletes %s while %s is on record", key, recorded)
		}
	}
	w.end(key)
}

// end deletes a ConfigMap as another client: immediately, or only after a foreign finalizer is removed.
func (w *cluster) end(key string) {
	if !rapid.Bool().Draw(w.t, "held") {
		delete(w.maps, key)
		return
	}
	now := metav1Now()
	w.maps[key].SetDeletionTimestamp(&now)
}

func (w *cluster) create(seen schema.Observed, o schema.Object) {
	key := o.Namespace + "/" + o.Name
	if w.maps[key] != nil {
		return // a conflict: the engine reports it
	}
	if !seen.Head.Reaches(o.Namespace) && !slices.Contains(w.foobar.GetFinalizers(), finalizer) {
		w.t.Fatalf("creates %s without a finalizer", key)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(o.Body, &u.Object); err != nil {
		w.t.Fatal(err)
	}
	w.uids++
	u.SetUID(types.UID(fmt.Sprint("c", w.uids)))
	u.SetResourceVersion("1")
	w.maps[key] = u
}

// owns reports whether the current FooBar owns the ConfigMap, and not a former one of the same name.
func (w *cluster) owns(c *unstructured.Unstructured) bool {
	for _, o := range c.GetOwnerReferences() {
		if o.UID == w.foobar.GetUID() {
			return true
		}
	}
	return strings.HasSuffix(c.GetAnnotations()[owner], " "+string(w.foobar.GetUID()))
}

// release removes objects that are being deleted, as if their finalizers were removed.
func (w *cluster) release() {
	for key, c := range w.maps {
		if c.GetDeletionTimestamp() != nil {
			delete(w.maps, key)
		}
	}
}

// collect is garbage collection: it deletes what has owners other than the current FooBar.
func (w *cluster) collect() {
	for key, c := range w.maps {
		if len(c.GetOwnerReferences()) > 0 && !w.owns(c) {
			delete(w.maps, key)
		}
	}
}

// TestWhateverHappens draws the histories of two FooBars, one after the other, with the same name. Each has edits of spec, status and
// ConfigMaps, and crashes between any two writes. At its end the desired ConfigMap of the FooBar exists, and no other one. After the
// deletion only ConfigMaps with an owner reference are left, which garbage collection deletes at any later time.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind, namespace := "FooBar", "team"
		if rapid.Bool().Draw(t, "cluster") {
			kind, namespace = "ClusterFooBar", ""
		}
		w := &cluster{t: t, maps: map[string]*unstructured.Unstructured{}}
		if rapid.Bool().Draw(t, "foreign") {
			w.maps["other/c"] = object("ConfigMap", "other", "c", "foreign", nil)
		}
		for _, uid := range []types.UID{"f1", "f2"} {
			w.foobar = object(kind, namespace, "web", uid, nil)
			w.watch = watchOf(t, w.foobar)
			w.live()
			w.crash = 1 << 30
			w.settle()
			w.checkEnd()
			w.deleteFooBar()
			if w.foobar != nil {
				t.Fatalf("after the deletion there is %v", w.foobar)
			}
			for _, key := range w.ours() {
				if len(w.maps[key].GetOwnerReferences()) == 0 {
					t.Fatalf("nobody will collect %s", key)
				}
			}
		}
	})
}

// live draws a history of the current FooBar. ConfigMaps of the former one may still wait for garbage collection.
func (w *cluster) live() {
	t := w.t
	spec := rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 4).Draw(t, "malformed") == 0 {
			return rapid.SampledFrom([]any{nil, int64(7), map[string]any{}, map[string]any{"target": int64(1)}, map[string]any{"target": "a", "type": "Move"}}).Draw(t, "spec")
		}
		return map[string]any{"target": rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "target"), "type": rapid.SampledFrom([]string{"Copy", "Link"}).Draw(t, "type"),
			"targetNamespace": rapid.SampledFrom([]string{"team", "other"}).Draw(t, "namespace")}
	})
	edit := func(to any) {
		w.foobar.Object["spec"] = to
		w.foobar.SetGeneration(w.foobar.GetGeneration() + 1)
	}
	edit(spec.Draw(t, "first"))
	for range rapid.IntRange(0, 25).Draw(t, "steps") {
		switch rapid.IntRange(0, 7).Draw(t, "step") {
		case 0:
			edit(spec.Draw(t, "edit"))
		case 1:
			w.foobar.Object["status"] = rapid.SampledFrom([]any{nil, int64(7), map[string]any{}, map[string]any{"target": "b", "targetNamespace": "other"}}).Draw(t, "status")
		case 2:
			w.foobar.SetFinalizers(nil) // by a client that must not do so
		case 3:
			if ours := w.ours(); len(ours) > 0 {
				w.end(rapid.SampledFrom(ours).Draw(t, "deleted"))
			}
		case 4:
			w.collect()
			w.release()
		default:
			w.crash = w.writes + rapid.IntRange(0, 6).Draw(t, "crash after")
			w.reconcile()
		}
	}
}

// checkEnd checks the result of a history, after settle.
func (w *cluster) checkEnd() {
	t := w.t
	if seen := observe(w.watch, w.foobar, nil); seen.Rejection == nil {
		want := specOf(seen.Object)
		key := want.TargetNamespace + "/" + want.Target
		if c := w.maps[key]; c == nil {
			t.Fatalf("%s does not exist; there are %v", key, w.ours())
		} else if c.GetUID() == "foreign" {
			key = ""
		} else if got := slim(c); got != (data{"web", want.Type}) || !w.owns(c) {
			t.Fatalf("%s holds %v: %v", key, got, c)
		}
		if ours := w.ours(); key != "" && !slices.Equal(ours, []string{key}) {
			t.Fatalf("wanted %s alone, found %v", key, ours)
		}
	} else if ours := w.ours(); len(ours) > 1 {
		t.Fatalf("malformed, and has %v", ours)
	}
	if c := w.maps["other/c"]; c != nil && c.GetUID() == "foreign" && c.Object["data"] != nil {
		t.Fatalf("wrote to a ConfigMap of somebody else: %v", c)
	}
}

// settle reconciles until there is nothing to write, or only writes that conflict.
func (w *cluster) settle() {
	w.collect()
	for range 10 {
		w.release()
		before, held := fmt.Sprint(w.foobar, w.maps), func(c *unstructured.Unstructured) bool { return c.GetDeletionTimestamp() != nil }
		if (w.reconcile() || fmt.Sprint(w.foobar, w.maps) == before) && !slices.ContainsFunc(slices.Collect(maps.Values(w.maps)), held) {
			return
		}
	}
	w.t.Fatalf("no end of writes: %v, %v", w.foobar, w.maps)
}

// deleteFooBar deletes the FooBar like an API server: immediately if there is no finalizer.
func (w *cluster) deleteFooBar() {
	if len(w.foobar.GetFinalizers()) == 0 {
		w.foobar = nil
		return
	}
	now := metav1Now()
	w.foobar.SetDeletionTimestamp(&now)
	for range 10 {
		w.crash = w.writes + rapid.IntRange(1, 2).Draw(w.t, "crash after")
		w.reconcile()
		w.release()
	}
}

func metav1Now() metav1.Time { return metav1.NewTime(clock()) }
