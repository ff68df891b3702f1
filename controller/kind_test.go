package controller

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/apimodel/server"
	"stoic/training"
	"stoic/training/kinds"
	"stoic/training/operator"
)

// TestKindComesAndGoes: the kind is installed late, is deleted and is installed again with other objects under the same names.
func TestKindComesAndGoes(t *testing.T) {
	s := newAPIServer(t)
	s.Unserve("tfjobs")
	c := newTestController(t, s, nil)
	start(t, c)
	l := c.watchers[0]
	server.Await(t, "readiness without the kind", l.objects.Ready)
	s.Locked(func() { s.Serve(tfjobs()) })
	s.put(job("a", 1, `{}`))
	server.Await(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
	s.Locked(func() { s.Drop(jobsPath + "a"); s.Unserve("tfjobs") })
	server.Await(t, "the end of the watch", func() bool { return l.objects.Version() == "" })
	server.Await(t, "nothing kept of what is gone", func() bool { return l.store.Len() == 0 })
	if got := counted(t, c, "training_operator_kind_served"); got != 0 {
		t.Errorf("served is %v", got)
	}
	s.Locked(func() { s.Serve(tfjobs()) })
	s.put(job("a", 1, `{}`))
	server.Await(t, "the status of the new job", func() bool { st := s.head("a"); return st.Is(training.Created) })
}

// TestMissingKindStopsNoOther: a kind whose CRD is not installed is no reason not to serve the others.
func TestMissingKindStopsNoOther(t *testing.T) {
	s := newAPIServer(t)
	start(t, newTestController(t, s, func(o *Options) { o.Watches = jobs(o, kinds.PyTorchJob(), kinds.TFJob()) }))
	s.put(job("a", 1, `{}`))
	server.Await(t, "the pod", func() bool { return len(s.names("pods")) == 1 })
}

// TestKindOfAnotherShape: an operator that was written for another kind or scope than the served one says so and is not ready. Otherwise
// it would wait for keys that never come.
func TestKindOfAnotherShape(t *testing.T) {
	for want, change := range map[string]func(*schema.Resource){
		"the API server serves tfjobs of kubeflow.org/v1 in namespaces, and the operator looks for them for the cluster": func(r *schema.Resource) { r.Cluster = true },
		"the API server serves tfjobs of kubeflow.org/v1 as the kind TFJob, and the operator takes them for Tfjob":       func(r *schema.Resource) { r.Kind = "Tfjob" },
	} {
		s := newAPIServer(t)
		core, lines := observer.New(zap.WarnLevel)
		c := newTestController(t, s, func(o *Options) {
			o.Watches, o.Log = jobs(o, kinds.TFJob()), zap.New(core)
			change(&o.Watches[0].Resource)
		})
		start(t, c)
		server.Await(t, want, func() bool {
			return slices.ContainsFunc(lines.All(), func(line observer.LoggedEntry) bool { return fmt.Sprint(line.ContextMap()["error"]) == want })
		})
		if got := counted(t, c, "training_operator_kind_served"); c.Unread() == "" || got != 0 {
			t.Errorf("it says that it is ready; served is %v", got)
		}
	}
}

func resultOf(uid, version string) *convert.Result {
	result := operator.Convert(kinds.TFJob(), &unstructured.Unstructured{Object: job("a", 1, `{}`)})
	result.Meta.UID, result.Meta.ResourceVersion = types.UID(uid), version
	return result
}

// TestHandlersForget: what is known of an object is forgotten when it is deleted, in whatever way that is reported. Package cache reports
// a deletion that the watch missed as a deletion.
func TestHandlersForget(t *testing.T) {
	s := newAPIServer(t)
	l := newTestController(t, s, nil).watchers[0]
	close(l.elected)
	first, second := resultOf("1", "10"), resultOf("2", "20")
	s.put(job("a", 1, `{}`))
	s.prune = func(status map[string]any) { delete(status, "startTime"); delete(status, "conditions") }
	write := func() (requests int) { // of a status that the server does not keep
		head, before := *first.Head, s.count("PATCH")
		head.Meta.ResourceVersion, head.ObservedGeneration = s.storedVersion(), 1
		if _, err := l.apply(t, &head, schema.Plan{Status: statusAt(1, "A")}); err != nil {
			t.Fatal(err)
		}
		return s.count("PATCH") - before
	}
	for name, end := range map[string]func(){
		"deleted":                     func() { l.deleted(first) },
		"recreated between two lists": func() { l.updated(first, second) },
	} {
		if n := write() + write(); n != 1 || l.store.Len() != 1 {
			t.Errorf("%s: %d requests, want 1, as it is known what the server keeps; of %d objects something is known", name, n, l.store.Len())
		}
		end()
		if n := l.store.Len(); n > 0 {
			t.Errorf("%s: of %d objects something is left", name, n)
		}
		if n := write(); n != 1 {
			t.Errorf("%s: it is still known what the server keeps of the status", name)
		}
		l.forget("1")
		if l.queue.Len() == 0 {
			t.Errorf("%s: the next job of that name is not queued", name)
			continue
		}
		key, _ := l.queue.Get()
		if key != "ns/a" {
			t.Errorf("%s: %q is queued", name, key)
		}
		l.queue.Done(key)
	}
	l.updated(first, first)
	l.store.WroteObject("1", "11")
	l.updated(first, resultOf("1", "11"))
	if n := l.queue.Len(); n != 0 {
		t.Errorf("%d keys wait after a relist and our own echo", n)
	}
}

// TestSchemaChanged: a relist returns an object at a known resourceVersion with other content, as the CRD got a default or lost a field.
// No update of the object will follow.
func TestSchemaChanged(t *testing.T) {
	read := func(policy string) *convert.Result {
		result := operator.Convert(kinds.TFJob(), &unstructured.Unstructured{Object: job("a", 1, policy)})
		result.Meta.UID, result.Meta.ResourceVersion = "1", "10"
		return result
	}
	const wrong, right, policy = `{"activeDeadlineSeconds":-5}`, `{}`, `{"cleanPodPolicy":"All"}`
	for _, c := range []struct {
		name, before, after string
		want                int
	}{
		{"nothing", policy, policy, 0},
		{"a default", right, policy, 1},
		{"another default", policy, `{"cleanPodPolicy":"None"}`, 1},
		{"a wrong field is dropped", wrong, right, 1},
		{"it gets a wrong default", right, wrong, 1},
		{"it stays wrong", wrong, wrong, 0},
		{"it is wrong in another way", wrong, `{"activeDeadlineSeconds":-6}`, 1},
	} {
		l := newTestController(t, newAPIServer(t), nil).watchers[0]
		close(l.elected)
		l.updated(read(c.before), read(c.after))
		if n := l.queue.Len(); n != c.want {
			t.Errorf("%s: %d keys wait, want %d", c.name, n, c.want)
		}
	}
}

// TestNothingIsReadForAKindThatIsNotServed: what only objects of an unserved kind own is not read, and keeps nothing from being ready.
// When the kind is installed it is read. The operator then needs permissions of a kind only where the kind is installed.
func TestNothingIsReadForAKindThatIsNotServed(t *testing.T) {
	s := newAPIServer(t)
	s.serveVolcano()
	s.Locked(func() { s.Unserve("tfjobs") })
	c := ganged(t, s)
	for _, owned := range c.options.Watches[0].Owns {
		owned.Optional = false
	}
	start(t, c)
	server.Await(t, "readiness without the kind", func() bool { return c.notReady() == "" && c.watchers[0].objects.Ready() })
	if n := s.count("GET podgroups"); n > 0 {
		t.Errorf("podgroups are listed %d times for objects that cannot be", n)
	}
	s.Locked(func() { s.Serve(tfjobs()) })
	s.put(job("a", 1, `{}`))
	server.Await(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
	if s.hasEvent("TFJobFailedValidation") {
		t.Error("the author is told of a resource that is served")
	}
}

// ganged returns a controller of TFJobs whose pods Volcano schedules.
func ganged(t *testing.T, s *apiServer) *Controller {
	t.Helper()
	return newTestController(t, s, func(o *Options) {
		o.Watches = jobs(o, kinds.TFJob().In(training.Cluster{Gang: training.Gang{Scheduler: "volcano"}}))
	})
}

func (s *apiServer) serveVolcano() {
	s.Locked(func() {
		s.Serve(server.ResourceOf(training.PodGroups(), true))
	})
}

// hasEvent reports whether an event of this reason is stored.
func (s *apiServer) hasEvent(reason string) bool {
	found := false
	s.Locked(func() {
		for _, o := range s.Objects("events") {
			found = found || o["reason"] == reason
		}
	})
	return found
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
	server.Await(t, "the event", func() bool { return s.hasEvent("TFJobFailedValidation") })
	if n := s.count("POST pods") + s.count("PATCH tfjobs"); n > 0 {
		t.Errorf("%d writes for an object whose children cannot be seen", n)
	}
	s.serveVolcano()
	server.Await(t, "the group", func() bool { return len(s.names("podgroups")) == 1 })
}

// TestPhaseOfAGroupWakes: the phase that Volcano writes into a PodGroup wakes its job, and a report that changes nothing else does not.
// TestSameDecidesWhatWakes of package cache shows what the cache makes of the two states.
func TestPhaseOfAGroupWakes(t *testing.T) {
	var groups *Owned
	for _, d := range ganged(t, newAPIServer(t)).dependents {
		if d.Resource == training.PodGroups() {
			groups = d.Owned
		}
	}
	kept := func(phase string, running, members int64) any {
		return groups.Slim(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "a", "namespace": "ns"},
			"spec":     map[string]any{"minMember": members},
			"status":   map[string]any{"phase": phase, "running": running},
		}})
	}
	before := kept("Pending", 0, 1)
	for name, test := range map[string]struct {
		after any
		wakes bool
	}{
		"a report":  {kept("Pending", 1, 1), false},
		"the phase": {kept("Inqueue", 0, 1), true},
		"the spec":  {kept("Pending", 0, 2), true},
	} {
		same := reflect.DeepEqual(before, test.after)
		if groups.Same != nil {
			same = groups.Same(before, test.after)
		}
		if same == test.wakes {
			t.Errorf("%s: wakes the job: %v, want %v", name, !same, test.wakes)
		}
	}
}
