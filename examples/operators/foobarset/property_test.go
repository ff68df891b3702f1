package foobarset

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"stoic/schema"
	"stoic/test/decision"
)

func web() decision.Key { return decision.Key{Kind: "FooBarSet", Namespace: "team", Name: "web"} }

// run is the state of a history.
type run struct {
	*decision.Cluster
	t *rapid.T
	// over are the tasks whose status at some time said that their Job had ended.
	over map[types.UID]bool
}

// specs generates valid and malformed specs of sets.
func specs() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if rapid.IntRange(0, 4).Draw(t, "malformed") == 0 {
			return rapid.SampledFrom([]any{nil, int64(7), map[string]any{}, map[string]any{"count": "2", "template": map[string]any{"image": "a"}},
				map[string]any{"count": int64(1 << 40), "template": map[string]any{"image": "a"}}, map[string]any{"template": map[string]any{"image": "a b"}}}).Draw(t, "spec")
		}
		return map[string]any{"count": int64(rapid.IntRange(0, 4).Draw(t, "count")), "template": map[string]any{"image": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "image")}}
	})
}

// wanted returns the names of the tasks of a set; ok is false if it is malformed.
func (r *run) wanted(set *unstructured.Unstructured) (names []string, ok bool) {
	seen := r.Observe(set, nil)
	if seen.Rejection != nil {
		return nil, false
	}
	for _, o := range r.WatchOf("FooBarSet").Decide(seen).Create {
		names = append(names, o.Name)
	}
	return names, true
}

// deleted checks the promises of deletions. A malformed set deletes nothing. A wanted task is only deleted if it was edited. Other
// tasks are only deleted while there are more than wanted. Tasks delete nothing.
func (r *run) deleted(seen decision.Objects, by, gone *unstructured.Unstructured) {
	names, ok := r.wanted(seen[decision.KeyOf(by)])
	if by.GetKind() != "FooBarSet" || !ok {
		r.t.Fatalf("%s deletes %s", by.GetName(), gone.GetName())
	}
	if slices.Contains(names, gone.GetName()) && gone.GetGeneration() == 1 {
		r.t.Fatalf("deletes the task %s, which it asks for", gone.GetName())
	}
	here := 0
	for _, u := range seen {
		if owner := metav1.GetControllerOf(u); owner != nil && owner.UID == by.GetUID() && u.GetDeletionTimestamp() == nil {
			here++
		}
	}
	if gone.GetGeneration() == 1 && here <= len(names) {
		r.t.Fatalf("deletes %s of %d tasks, and asks for %d", gone.GetName(), here, len(names))
	}
}

// created checks that no task is run again whose Job is known to have ended.
func (r *run) created(_ decision.Objects, by, made *unstructured.Unstructured) {
	if made.GetKind() == "Job" && r.over[by.GetUID()] {
		r.t.Fatalf("the task %s is run again", by.GetName())
	}
}

// note adds the tasks to over whose stored status says so now.
func (r *run) note() {
	for _, at := range r.Keys("FooBarTask") {
		if reason := slimTask(r.Now()[at]).(child).reason; reason == complete || reason == failed {
			r.over[r.Now()[at].GetUID()] = true
		}
	}
}

// one draws an object of a kind; false if there is none.
func (r *run) one(kind string) (decision.Key, bool) {
	all := r.Keys(kind)
	if len(all) == 0 {
		return decision.Key{}, false
	}
	return rapid.SampledFrom(all).Draw(r.t, kind), true
}

// end ends a Job.
func (r *run) end(at decision.Key, how string) {
	r.Edit(at, "status", map[string]any{"conditions": []any{map[string]any{"type": how, "status": "True", "reason": "Ended"}}})
}

// reconcile reconciles an object of a kind on some version, up to a crash.
func (r *run) reconcile(kind string) {
	if at, ok := r.one(kind); ok {
		r.Reconcile(at, rapid.IntRange(r.Oldest(at), len(r.Versions)-1).Draw(r.t, "as of"), rapid.IntRange(0, 5).Draw(r.t, "crash after"))
		r.note()
	}
}

func (r *run) step() {
	switch rapid.IntRange(0, 12).Draw(r.t, "step") {
	case 0:
		r.Edit(web(), "spec", specs().Draw(r.t, "edit"))
	case 1:
		r.Edit(web(), "status", rapid.SampledFrom([]any{nil, int64(7), map[string]any{"tasks": "x"}, map[string]any{"succeeded": int64(99)}}).Draw(r.t, "status"))
	case 2:
		if at, ok := r.one("FooBarTask"); ok {
			r.Edit(at, "spec", rapid.SampledFrom([]any{nil, map[string]any{"image": "x"}, map[string]any{"image": int64(1)}}).Draw(r.t, "by hand"))
			delete(r.over, r.Now()[at].GetUID()) // the status of a malformed one may change
		}
	case 3:
		if at, ok := r.one(rapid.SampledFrom([]string{"FooBarTask", "Job"}).Draw(r.t, "kind")); ok {
			r.Delete(at)
		}
	case 4:
		r.Delete(web())
		if rapid.Bool().Draw(r.t, "collected at once") {
			r.Collect()
		}
		r.Create(object("FooBarSet", "web", specs().Draw(r.t, "recreated")))
	case 5, 6:
		if at, ok := r.one("Job"); ok {
			r.end(at, rapid.SampledFrom([]string{"Complete", "Complete", "Failed"}).Draw(r.t, "end"))
		}
	case 7, 8, 9: // either half may be down for any time
		r.reconcile("FooBarSet")
	default:
		r.reconcile("FooBarTask")
	}
	if rapid.IntRange(0, 3).Draw(r.t, "collected") == 0 {
		r.Collect()
	}
}

// settle lets both watches reconcile, and Jobs succeed, until nothing changes any more.
func (r *run) settle() {
	for range 40 {
		before := len(r.Versions)
		r.Collect()
		for _, kind := range []string{"FooBarSet", "FooBarTask"} {
			for _, at := range r.Keys(kind) {
				r.Reconcile(at, len(r.Versions)-1, 1<<30)
			}
		}
		r.note()
		for _, at := range r.Keys("Job") {
			if u := r.Now()[at]; slimJob(u).(child).reason == running && metav1.GetControllerOf(u) != nil {
				r.end(at, "Complete")
			}
		}
		if len(r.Versions) == before {
			return
		}
	}
	r.t.Fatalf("no end of writes: %v", r.Now())
}

// TestWhateverHappens draws a history of edits of sets, tasks and Jobs, of deletions, of Jobs that end, of lagging caches, and of
// crashes of either watch between any two writes. At the end the set has exactly the tasks in its spec, each is over, and the
// status counts them.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &run{Cluster: &decision.Cluster{T: t, Watches: Watches()}, t: t, over: map[types.UID]bool{}}
		r.Deleted, r.Created = r.deleted, r.created
		first := object("FooBarSet", "web", specs().Draw(t, "first"))
		r.Create(first)
		if names, _ := r.wanted(r.Now()[web()]); len(names) > 0 && rapid.Bool().Draw(t, "foreign") {
			r.Create(object("FooBarTask", names[len(names)-1], map[string]any{"image": "mine"}))
		}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			r.step()
		}
		r.settle()
		r.judge()
		r.Delete(web())
		r.Collect()
		for _, at := range r.Keys("") {
			if owner := ownerOf(r.Now()[at]); owner != "" && r.Now()[decision.Key{Kind: "FooBarTask", Namespace: "team", Name: at.Name}] == nil || owner == "FooBarSet web" {
				t.Fatalf("left: %v of %s", at, owner)
			}
		}
	})
}

func ownerOf(u *unstructured.Unstructured) string {
	if owner := metav1.GetControllerOf(u); owner != nil {
		return owner.Kind + " " + owner.Name
	}
	return ""
}

func (r *run) judge() {
	set := r.Now()[web()]
	names, ok := r.wanted(set)
	status, _ := r.Observe(set, nil).Head.Status.(*FooBarSetStatus)
	stalled := schema.Condition(status.Conditions, "Stalled")
	if status.ObservedGeneration != set.GetGeneration() || stalled == nil || !ok && stalled.Reason != invalid {
		r.t.Fatalf("rejected: %v, and the status says %+v", !ok, status)
	}
	var own, foreign, over int32
	for _, at := range r.Keys("FooBarTask") {
		u := r.Now()[at]
		switch is := slimTask(u).(child); {
		case ownerOf(u) == "":
			foreign++
			continue
		case ok && !slices.Contains(names, at.Name) && foreign == 0 && !r.taken(names):
			r.t.Fatalf("%s is there, and not asked for; wanted %v", at.Name, names)
		case ok && is.edited && slices.Contains(names, at.Name): // another one stays until that for which a name is taken is there
			r.t.Fatalf("%s was edited, and is still there", at.Name)
		case is.reason == complete || is.reason == failed || is.reason == invalid:
			over++
		}
		own++
	}
	if ok && status.Tasks+r.takenOf(names) != int32(len(names)) || !ok && status.Tasks != own {
		r.t.Fatalf("%d tasks are wanted, the status says %+v", len(names), status)
	}
	if ok && own < int32(len(names))-r.takenOf(names) {
		r.t.Fatalf("%d tasks of %d", own, len(names))
	}
	if done := schema.Condition(status.Conditions, "Complete"); ok && status.Tasks == int32(len(names)) && (done.Status == metav1.ConditionTrue) != (status.Failed == 0) {
		r.t.Fatalf("all is over, and the status says %+v", status)
	}
	if ok && status.Active > 0 || status.Succeeded+status.Failed > over {
		r.t.Fatalf("%d tasks are over, and the status says %+v", over, status)
	}
}

// takenOf returns how many of the names belong to foreign tasks.
func (r *run) takenOf(names []string) (n int32) {
	for _, name := range names {
		if u := r.Now()[decision.Key{Kind: "FooBarTask", Namespace: "team", Name: name}]; u != nil && ownerOf(u) == "" {
			n++
		}
	}
	return n
}

func (r *run) taken(names []string) bool { return r.takenOf(names) > 0 }
