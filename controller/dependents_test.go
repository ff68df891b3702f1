package controller

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/apply"
	"stoic/controller/cache"
	"stoic/schema"
	"stoic/test/faults/apimodel"
	"stoic/training"
	"stoic/training/kinds"
)

const groupsPath = "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups/"

// ganged returns a controller of TFJobs whose pods Volcano schedules.
func ganged(t *testing.T, s *apiServer) *Controller {
	t.Helper()
	return newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}))
	})
}

func (s *apiServer) serve(group, plural string) {
	kind := map[string]string{"podgroups": "PodGroup", "horizontalpodautoscalers": "HorizontalPodAutoscaler", "priorityclasses": "PriorityClass", "jobs": "Job", "workloads": "Workload"}[plural]
	name, version, _ := strings.Cut(group, "/")
	s.locked(func() {
		s.Serve(apimodel.Resource{Group: name, Version: version, Plural: plural, Kind: kind, Namespaced: plural != "priorityclasses", Status: plural != "priorityclasses"})
	})
}

func (s *apiServer) serveVolcano() { s.serve("scheduling.volcano.sh/v1beta1", "podgroups") }

// groupPhase sets the phase that Volcano writes.
func (s *apiServer) groupPhase(name string, phase any) {
	s.locked(func() {
		o := maps.Clone(s.At(groupsPath + name))
		o["status"] = map[string]any{"phase": phase}
		s.store(groupsPath+name, o)
	})
}

// hasEvent reports whether an event of this reason is stored.
func (s *apiServer) hasEvent(reason string) bool {
	found := false
	s.locked(func() {
		for _, o := range s.Objects("events") {
			found = found || o["reason"] == reason
		}
	})
	return found
}

func TestGangFromBeginningToEnd(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	start(t, ganged(t, s))
	s.put(job("a", 2, `{}`))
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	s.groupPhase("a", "Pending")
	s.put(job("other", 1, `{}`))
	eventually(t, "the other group", func() bool { return len(s.names("podgroups")) == 2 })
	if pods := s.names("pods"); len(pods) > 0 {
		t.Errorf("made before their group was admitted: %v", pods)
	}
	s.groupPhase("a", "Inqueue")
	eventually(t, "the pods", func() bool { return len(s.names("pods")) == 2 })
	s.phase("a-worker-0", "Succeeded")
	eventually(t, "the end of the group", func() bool { return len(s.names("podgroups")) == 1 })
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonCreatedPodGroup) })
	if writes := s.count("PATCH podgroups"); writes > 0 {
		t.Errorf("%d updates of what did not change", writes)
	}
}

// TestGangWithoutCRD: the CRD is installed later. The job waits, an event says why, and it continues by itself.
func TestGangWithoutCRD(t *testing.T) {
	s := newAPIServer(t)
	c := ganged(t, s)
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonPodGroupUnavailable) })
	if n := s.count("POST podgroups") + s.count("POST pods"); n > 0 {
		t.Errorf("%d requests for nothing", n)
	}
	s.serveVolcano()
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	if got := counted(t, c, "training_operator_kind_served"); got != 2 {
		t.Errorf("%v kinds are served", got)
	}
}

// TestRequiredResourceThatIsNotServed: objects cannot do without a resource that is not served. Nothing is decided, events inform the users
// why, and the objects are reconciled when it is served, without polling in between.
func TestRequiredResourceThatIsNotServed(t *testing.T) {
	s := newAPIServer(t)
	c := newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}))
		for _, owned := range o.Watches[0].Owns {
			owned.Optional = false
		}
	})
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent("TFJobFailedValidation") })
	if n := s.count("POST pods") + s.count("PATCH tfjobs"); n > 0 {
		t.Errorf("%d writes for an object whose children cannot be seen", n)
	}
	s.serveVolcano()
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
}

// TestWithoutGang: without the flag no request is about groups.
func TestWithoutGang(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	start(t, newTestController(t, s, nil))
	s.put(job("a", 1, `{}`))
	eventually(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	if n := s.count("GET podgroups") + s.count("POST podgroups"); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// TestGangForbidden: a resource that must not be watched is reported to the user with the reason.
func TestGangForbidden(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.refuse = func(_, resource, _ string) *refusing {
		if resource == "podgroups" {
			return &refusing{http.StatusForbidden, metav1.StatusReasonForbidden, "podgroups is forbidden"}
		}
		return nil
	}
	start(t, ganged(t, s))
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonPodGroupUnavailable) })
	s.locked(func() { s.refuse = nil })
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
}

// TestForeignGroup: a group of another owner is not touched, and the job waits.
func TestForeignGroup(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.locked(func() {
		s.store(groupsPath+"a", map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
			"metadata": map[string]any{"name": "a", "namespace": "ns"}, "status": map[string]any{"phase": "Running"}})
	})
	start(t, ganged(t, s))
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.hasEvent(training.ReasonNameConflict) })
	if n := s.count("PATCH podgroups") + s.count("DELETE podgroups") + s.count("POST pods"); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// TestGroupOfAnEarlierOperator: a group that an earlier operator made for this job has no label, and is not seen; it gets one.
func TestGroupOfAnEarlierOperator(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	group := owned("a", "mine", "TFJob", "a", "")
	s.locked(func() { s.store(groupsPath+"a", group) })
	c := ganged(t, s)
	l := c.watchers[0]
	_, err := l.apply(t, l.seen(someHead()), schema.Plan{Create: []schema.Object{{Resource: training.PodGroups(), Namespace: "ns", Name: "a",
		Body: []byte(`{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{"name":"a"}}`)}}})
	if err != nil {
		t.Errorf("error: %v", err)
	}
	labels, _ := s.At(groupsPath + "a")["metadata"].(map[string]any)["labels"].(map[string]any)
	if labels[training.LabelOperator] != kinds.TFJob().Controller || labels[training.LabelJob] != "a" {
		t.Errorf("its labels are %v", labels)
	}
	if messages := emitting(t, s, c)(); len(messages) > 0 {
		t.Errorf("emitted, though nothing was created: %q", messages)
	}
}

// TestPatchThatChangesNothing: a dependent whose schema drops fields is written once, not in every reconcile.
func TestPatchThatChangesNothing(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.keep = func(o map[string]any) { delete(o["spec"].(map[string]any), "minMember") }
	s.locked(func() {
		s.store(groupsPath+"a", map[string]any{"metadata": map[string]any{"name": "a", "namespace": "ns"}, "spec": map[string]any{}})
	})
	l := ganged(t, s).watchers[0]
	version := s.At(groupsPath + "a")["metadata"].(map[string]any)["resourceVersion"].(string)
	patch := schema.Patch{Resource: training.PodGroups(), Namespace: "ns", Name: "a", UID: "group", ResourceVersion: version,
		Body: []byte(`{"metadata":{"resourceVersion":"` + version + `"},"spec":{"minMember":1}}`)}
	for range 3 {
		if requeue, err := l.apply(t, l.seen(someHead()), schema.Plan{Patch: []schema.Patch{patch}}); err != nil || requeue != 0 {
			t.Fatalf("requeued after %s for what changes nothing: %v", requeue, err)
		}
	}
	if n := s.count("PATCH podgroups"); n != 1 {
		t.Errorf("%d requests", n)
	}
	stale := patch
	stale.ResourceVersion, stale.Body = "1", []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"minMember":2}}`)
	if _, err := l.apply(t, l.seen(someHead()), schema.Plan{Patch: []schema.Patch{stale}}); apply.ClassOf(err) != apply.Retry {
		t.Errorf("an object that has changed: %v", err)
	}
}

// TestWhatOfADependentWakes: what a decision depends on wakes the job, and a report that changes nothing else does not.
func TestWhatOfADependentWakes(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	c := ganged(t, s)
	var groups *Owned
	for _, d := range c.dependents {
		if d.Resource == training.PodGroups() {
			groups = d.Owned
		}
	}
	var mu sync.Mutex
	woken := map[string]int{}
	d := cache.NewDependents(c.source, c.typed, groups, func(owner cache.Owner) {
		mu.Lock()
		defer mu.Unlock()
		woken[owner.Name]++
	}, func() {})
	wakes := func(owner string) int {
		mu.Lock()
		defer mu.Unlock()
		return woken[owner]
	}
	put := func(name string, change func(o map[string]any)) {
		s.locked(func() {
			o := owned(name, "u-"+name, "TFJob", name, kinds.TFJob().Controller)
			o["apiVersion"], o["kind"] = "scheduling.volcano.sh/v1beta1", "PodGroup"
			meta := o["metadata"].(map[string]any)
			meta["uid"] = "g-" + name
			o["spec"], o["status"] = map[string]any{}, map[string]any{"phase": "Pending"}
			change(o)
			s.store(groupsPath+name, o)
		})
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { d.Serve(ctx) })
	defer serving.Wait()
	defer stop()
	eventually(t, "the watch", d.Known)
	i := 0
	for what, c := range map[string]struct {
		change func(o map[string]any)
		wakes  int
	}{
		"nothing but the version": {func(map[string]any) {}, 0},
		"a report":                {func(o map[string]any) { o["status"].(map[string]any)["running"] = 1 }, 0},
		"the phase":               {func(o map[string]any) { o["status"] = map[string]any{"phase": "Inqueue"} }, 1},
		"the spec":                {func(o map[string]any) { o["spec"] = map[string]any{"minMember": 1} }, 1},
		"its end":                 {func(o map[string]any) { o["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z" }, 1},
		"another of its name":     {func(o map[string]any) { o["metadata"].(map[string]any)["uid"] = "h" }, 1},
	} {
		name, last := fmt.Sprint("a", i), fmt.Sprint("last", i)
		i++
		put(name, func(map[string]any) {})
		eventually(t, "the object", func() bool { return wakes(name) == 1 })
		put(name, c.change)
		put(last, func(map[string]any) {}) // events come in order
		eventually(t, "the object after it", func() bool { return wakes(last) == 1 })
		if got := wakes(name) - 1; got != c.wakes {
			t.Errorf("%s: woken %d times, want %d", what, got, c.wakes)
		}
	}
}

// TestEndsThatWereMissed: jobs that are deleted while their watch is down leave nothing in memory; what is known of the others is kept.
func TestEndsThatWereMissed(t *testing.T) {
	s, _ := refusingAutoscalers(t, math.MaxInt32)
	now := time.Now()
	c := newTestController(t, s, func(o *Options) {
		o.Watches, o.Now = jobs(o, kinds.PyTorchJob(), kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}})), func() time.Time { return now }
	})
	l, other := c.watchers[0], c.watchers[1]
	refused := func(l *watcher, uid types.UID) (requests int) {
		head, before := someHead(), s.count("POST horizontalpodautoscalers")
		head.Meta.UID = uid
		if _, err := l.apply(t, l.seen(head), autoscalerOf()); err != nil && apply.ClassOf(err) != apply.Refused {
			t.Fatal(err)
		}
		return s.count("POST horizontalpodautoscalers") - before
	}
	for range 2 { // the second one is known to be refused
		for uid, l := range map[types.UID]*watcher{"gone": l, "there": l, "of another kind": other} {
			refused(l, uid)
		}
	}
	if n := s.count("POST horizontalpodautoscalers"); n != 3 || l.store.Len() != 2 || other.store.Len() != 1 {
		t.Fatalf("%d requests, want 3; of %d and %d objects something is known, want 2 and 1", n, l.store.Len(), other.store.Len())
	}
	l.replaced(map[types.UID]bool{"there": true})
	if l.store.Len() != 1 || other.store.Len() != 1 || !l.store.Verified("there") || !other.store.Verified("of another kind") {
		t.Errorf("after a new list of the jobs of one kind something is known of %d jobs of this kind and of %d of the other", l.store.Len(), other.store.Len())
	}
	for _, c := range []struct {
		l    *watcher
		uid  types.UID
		want int
	}{{l, "gone", 1}, {l, "there", 0}, {other, "of another kind", 0}} {
		if got := refused(c.l, c.uid); got != c.want {
			t.Errorf("after a new list: %d requests for the job %q, want %d", got, c.uid, c.want)
		}
	}
}
