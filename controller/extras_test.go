package controller

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"stoic/controller/plan"
	"stoic/schema"
)

const groupsPath = "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups/"

// ganged is a controller of TFJobs whose pods Volcano schedules.
func ganged(t *testing.T, s *apiServer) *Controller {
	t.Helper()
	return newTestController(t, s, func(o *Options) {
		o.Watched = Jobs([]*schema.Kind{schema.TFJob().In(schema.Cluster{Gang: schema.Gang{Scheduler: "volcano"}})})
	})
}

func (s *apiServer) serve(group, plural string) {
	s.locked(func() { s.serves = map[string]string{group: plural} })
}

func (s *apiServer) serveVolcano() { s.serve("scheduling.volcano.sh/v1beta1", "podgroups") }

// groupPhase is what Volcano writes.
func (s *apiServer) groupPhase(name string, phase any) {
	s.locked(func() {
		o := map[string]any{}
		mergeInto(o, s.objects[groupsPath+name])
		o["status"] = map[string]any{"phase": phase}
		s.store(groupsPath+name, o)
	})
}

// Reasons of the stored events.
func (s *apiServer) told(reason string) bool {
	found := false
	s.locked(func() {
		for path, o := range s.objects {
			found = found || strings.Contains(path, "/events/") && o["reason"] == reason
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
	eventually(t, "the event", func() bool { return s.told(schema.ReasonCreatedPodGroup) })
	if writes := s.count("PATCH podgroups"); writes > 0 {
		t.Errorf("%d updates of what did not change", writes)
	}
}

// A CRD that comes later: the job waits, is told why, and goes on by itself.
func TestGangWithoutCRD(t *testing.T) {
	s := newAPIServer(t)
	c := ganged(t, s)
	start(t, c)
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.told(schema.ReasonPodGroupUnavailable) })
	if n := s.count("POST podgroups") + s.count("POST pods"); n > 0 {
		t.Errorf("%d requests for nothing", n)
	}
	s.serveVolcano()
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	if got := counted(t, c, "training_operator_kind_served"); got != 2 {
		t.Errorf("%v kinds are served", got)
	}
}

// Without the flag nothing is asked about groups.
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

// What may not be watched is told to the author with the reason.
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
	eventually(t, "the event", func() bool { return s.told(schema.ReasonPodGroupUnavailable) })
	s.locked(func() { s.refuse = nil })
	eventually(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
}

// A group of somebody else's is not touched, and the job waits.
func TestForeignGroup(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.locked(func() {
		s.store(groupsPath+"a", map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
			"metadata": map[string]any{"name": "a", "namespace": "ns"}, "status": map[string]any{"phase": "Running"}})
	})
	start(t, ganged(t, s))
	s.put(job("a", 1, `{}`))
	eventually(t, "the event", func() bool { return s.told(schema.ReasonNameConflict) })
	if n := s.count("PATCH podgroups") + s.count("DELETE podgroups") + s.count("POST pods"); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// A group that an earlier operator made for this job has no label, and is not seen; it gets one.
func TestGroupOfAnEarlierOperator(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	group := owned("a", "mine", "TFJob", "a", "")
	s.locked(func() { s.store(groupsPath+"a", group) })
	l := ganged(t, s).loops[0]
	made, err := l.createOne(t.Context(), someHead(), schema.Object{Resource: schema.PodGroups(), Namespace: "ns", Name: "a",
		Body: []byte(`{"metadata":{"name":"a"}}`)})
	if made || err != nil {
		t.Errorf("made: %v, error: %v", made, err)
	}
	labels, _ := s.objects[groupsPath+"a"]["metadata"].(map[string]any)["labels"].(map[string]any)
	if labels[schema.LabelOperator] != schema.TFJob().Controller || labels[schema.LabelJob] != "a" {
		t.Errorf("its labels are %v", labels)
	}
}

// A schema that drops what we want is written to once, not in every pass.
func TestUpdateThatChangesNothing(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.keep = func(o map[string]any) { delete(o["spec"].(map[string]any), "minMember") }
	s.locked(func() {
		s.store(groupsPath+"a", map[string]any{"metadata": map[string]any{"name": "a", "namespace": "ns"}, "spec": map[string]any{}})
	})
	l := ganged(t, s).loops[0]
	version := s.objects[groupsPath+"a"]["metadata"].(map[string]any)["resourceVersion"].(string)
	update := plan.Update{Resource: schema.PodGroups(), Namespace: "ns", Name: "a", UID: "group", ResourceVersion: version,
		Patch: []byte(`{"metadata":{"resourceVersion":"` + version + `"},"spec":{"minMember":1}}`)}
	for range 3 {
		if again, err := l.update(t.Context(), someHead(), []plan.Update{update}); err != nil || again != 0 {
			t.Fatalf("look again in %s for what changes nothing: %v", again, err)
		}
	}
	if n := s.count("PATCH podgroups"); n != 1 {
		t.Errorf("%d requests", n)
	}
	stale := update
	stale.ResourceVersion, stale.Patch = "1", []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"minMember":2}}`)
	if _, err := l.update(t.Context(), someHead(), []plan.Update{stale}); sortError(err) != retry {
		t.Errorf("an object that has changed: %v", err)
	}
}

// An autoscaler that is refused costs one request in a while, whatever else happens to the job, until it is changed.
func TestRefusedExtra(t *testing.T) {
	s := newAPIServer(t)
	s.serve("autoscaling/v2", "horizontalpodautoscalers")
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && resource == "horizontalpodautoscalers" {
			return &refusing{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no"}
		}
		return nil
	}
	now := time.Now()
	l := newTestController(t, s, func(o *Options) {
		o.Watched = Jobs([]*schema.Kind{schema.PyTorchJob()})
		o.Now = func() time.Time { return now }
	}).loops[0]
	head := someHead()
	object := schema.Object{Resource: schema.Autoscalers(), Namespace: "ns", Name: "a", Body: []byte(`{"metadata":{"name":"a"}}`)}
	create := func() (time.Duration, error) {
		_, again, err := l.createExtras(t.Context(), head, []schema.Object{object})
		return again, err
	}
	for i, step := range []struct {
		change func()
		want   int
		again  time.Duration // where nothing was sent
	}{
		{func() {}, 1, 0},
		{func() {}, 1, firstProbe},
		{func() { now = now.Add(firstProbe / 2) }, 1, firstProbe / 2},
		{func() { now = now.Add(firstProbe / 2) }, 2, 0},
		{func() { now = now.Add(firstProbe) }, 2, firstProbe},
		{func() { now = now.Add(firstProbe) }, 3, 0},
		{func() { head.Meta.Generation++ }, 4, 0},
		{func() { now = now.Add(firstProbe) }, 5, 0},
		{func() { l.forget(head) }, 6, 0},
		{func() { now = now.Add(slowProbe) }, 7, 0},
		{func() { now = now.Add(slowProbe) }, 8, 0},
		{func() { now = now.Add(slowProbe) }, 9, 0},
		{func() { now = now.Add(slowProbe) }, 10, 0},
		{func() { now = now.Add(slowProbe) }, 11, 0},
		{func() { now = now.Add(slowProbe - time.Second) }, 11, time.Second},
		{func() { now = now.Add(time.Second) }, 12, 0},
	} {
		step.change()
		before := s.count("POST horizontalpodautoscalers")
		again, err := create()
		if got := s.count("POST horizontalpodautoscalers"); got != step.want || again != step.again || (err != nil) != (step.want > before) {
			t.Errorf("step %d: %d requests, want %d; again in %s, want %s; error %v", i, got, step.want, again, step.again, err)
		}
	}
}

// TestRefusedExtraIsTriedAgain: the job runs well without it, and nothing happens to it; the autoscaler comes all the same when
// it is let through. Found by the fault rig (G6).
func TestRefusedExtraIsTriedAgain(t *testing.T) {
	s := newAPIServer(t)
	s.serve("autoscaling/v2", "horizontalpodautoscalers")
	var tries atomic.Int32
	s.refuse = func(verb, resource, _ string) *refusing {
		if verb == http.MethodPost && resource == "horizontalpodautoscalers" && tries.Add(1) <= 2 {
			return &refusing{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no"}
		}
		return nil
	}
	now := newClock()
	l := newTestController(t, s, func(o *Options) { o.Watched, o.Now = Jobs([]*schema.Kind{schema.PyTorchJob()}), now.now }).loops[0]
	head := someHead()
	object := schema.Object{Resource: schema.Autoscalers(), Namespace: "ns", Name: "a", Body: []byte(`{"metadata":{"name":"a"}}`)}
	todo := plan.Plan{Create: []schema.Object{object}}
	l.floors.trust(head.Meta.UID)
	for try := range 3 {
		_, err := l.execute(t.Context(), plan.Observed{Head: head, Now: now.now()}, todo)
		if (err == nil) != (try == 2) {
			t.Errorf("try %d: %v", try, err)
		}
		if try < 2 {
			again, err := l.execute(t.Context(), plan.Observed{Head: head, Now: now.now()}, todo)
			if err != nil || again <= 0 || again > firstProbe<<try {
				t.Fatalf("after try %d, by an event: looks again in %s: %v", try, again, err)
			}
			now.pass(again)
		}
	}
	if n := tries.Load(); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

// The transform is total, and an object of any shape keeps its name.
func TestSlimExtraIsTotal(t *testing.T) {
	e := ganged(t, newAPIServer(t)).extras[0]
	values := rapid.OneOf(rapid.Just[any](nil), rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64().AsAny(),
		rapid.Just[any](map[string]any{"phase": []any{1}}), rapid.Just[any](map[string]any{"phase": "Running"}), rapid.Just[any]([]any{map[string]any{}}))
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "a", "labels": values.Draw(t, "labels"), "ownerReferences": values.Draw(t, "owners"), "creationTimestamp": values.Draw(t, "created")},
			"spec":     values.Draw(t, "spec"), "status": values.Draw(t, "status")}}
		obj, err := e.slim(u)
		c, ok := obj.(*child)
		if err != nil || !ok || c.Name != "a" || c.extra == nil {
			t.Fatalf("%+v, %v", obj, err)
		}
		if again, err := e.slim(obj); again != obj || err != nil {
			t.Fatalf("changed on its second way: %v, %v", again, err)
		}
	})
	for _, odd := range []any{nil, 7, (*unstructured.Unstructured)(nil), &unstructured.Unstructured{}} {
		if obj, err := e.slim(odd); err != nil || obj == nil {
			t.Errorf("%v: %v, %v", odd, obj, err)
		}
	}
}

// What a decision depends on wakes the job, and a report that changes nothing else does not.
func TestWhatOfAnExtraWakes(t *testing.T) {
	woken := 0
	handler := (&extraWatch{}).waking(func(ownerKey) { woken++ })
	version := func(v string, change func(*schema.StoredExtra)) *child {
		c := &child{owned: unique.Make(ownerKey{uid: "u", kind: "TFJob", key: "ns/a"}),
			extra: &schema.StoredExtra{Name: "a", UID: "g", ResourceVersion: v, Phase: "Pending", Spec: []byte(`{}`)}}
		change(c.extra)
		return c
	}
	for what, c := range map[string]struct {
		change func(*schema.StoredExtra)
		wakes  int
	}{
		"nothing but the version": {func(*schema.StoredExtra) {}, 0},
		"the phase":               {func(e *schema.StoredExtra) { e.Phase = "Inqueue" }, 1},
		"the spec":                {func(e *schema.StoredExtra) { e.Spec = []byte(`{"minMember":1}`) }, 1},
		"its end":                 {func(e *schema.StoredExtra) { e.Deleting = true }, 1},
		"another of its name":     {func(e *schema.StoredExtra) { e.UID = "h" }, 1},
	} {
		woken = 0
		handler.OnUpdate(version("1", func(*schema.StoredExtra) {}), version("2", c.change))
		if woken != c.wakes {
			t.Errorf("%s: woken %d times, want %d", what, woken, c.wakes)
		}
	}
}
