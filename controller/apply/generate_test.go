package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller/cache"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/schema"
	"stoic/test/faults/apimodel"
)

const secretPath = "/api/v1/namespaces/ns/secrets/a-ssh"

// withSecrets adds a dependent that is generated and not watched.
func withSecrets(generator watch.Generator) func(*Options) {
	return func(o *Options) {
		source := cache.Source{Metrics: serve.NewMetrics(prometheus.NewRegistry(), "test"), Log: zap.NewNop()}
		o.Dependents = append(o.Dependents, cache.NewDependents(source, nil, &watch.Owned{Resource: schema.Secrets(), Unwatched: true,
			Generators: map[string]watch.Generator{"key": generator}, Reasons: watch.Reasons{CreateFailed: "SecretFailed", Created: "SecretCreated"}}, nil, nil))
	}
}

func secret(owner string) schema.Object {
	return schema.Object{Resource: schema.Secrets(), Namespace: "ns", Name: "a-ssh", Generate: "key",
		Body: schema.JSON(map[string]any{"metadata": withName(owned(owner, "Widget", "a", ""), "a-ssh"), "type": "t"})}
}

func withName(meta map[string]any, name string) map[string]any {
	meta["name"] = name
	return meta
}

// TestGeneratedFields: what is generated reaches the API server, and nothing else: not the plan, no log line, no event, no error.
func TestGeneratedFields(t *testing.T) {
	s := newAPIServer(t)
	s.put(widgetsPath+"a", map[string]any{"uid": "mine"})
	const private = "cHJpdmF0ZQ=="
	logs, lines := observer.New(zap.DebugLevel)
	a := newTestApplier(t, s, func(o *Options) {
		withSecrets(func() (map[string]any, error) { return map[string]any{"data": map[string]string{"k": private}}, nil })(o)
		o.Log = zap.New(logs)
	})
	head := s.head(t, "a")
	a.Store.SetVerified(head.Meta.UID)
	plan := schema.Plan{Create: []schema.Object{secret("mine")}}

	s.failing(func(request string) *metav1.Status { // a server that says back what it was sent
		if strings.HasPrefix(request, "POST secrets") {
			return statusOf(422)
		}
		return nil
	})
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err == nil || strings.Contains(err.Error(), private) {
		t.Errorf("refused: %v", err)
	}
	s.failing(nil)
	a.Forget(head.Meta.UID)
	if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err != nil {
		t.Fatal(err)
	}
	stored := s.object(secretPath)
	if diff := cmp.Diff(map[string]any{"k": private}, stored["data"]); diff != "" || stored["type"] != "t" {
		t.Errorf("%v (-want +got):\n%s", stored, diff)
	}
	if strings.Contains(string(plan.Create[0].Body), private) {
		t.Error("the plan holds what was generated")
	}
	if message := s.reported(t, "SecretFailed") + s.reported(t, "SecretCreated"); strings.Contains(message, private) {
		t.Errorf("an event says %q", message)
	}
	for _, line := range lines.All() {
		if strings.Contains(line.Message, private) || strings.Contains(string(schema.JSON(line.ContextMap())), private) {
			t.Errorf("logged: %s %v", line.Message, line.ContextMap())
		}
	}
}

// TestGeneratorsThatFail: a generator that fails, or that the watch does not have, is an error, and nothing is posted.
func TestGeneratorsThatFail(t *testing.T) {
	s := newAPIServer(t)
	broken := errors.New("no randomness")
	a := newTestApplier(t, s, withSecrets(func() (map[string]any, error) { return nil, broken }))
	if _, err := a.createOne(t.Context(), someSeen(), secret("mine")); !errors.Is(err, broken) {
		t.Error(err)
	}
	unknown := secret("mine")
	unknown.Generate = "other"
	if _, err := a.createOne(t.Context(), someSeen(), unknown); err == nil || ClassOf(err) != Retry {
		t.Error(err)
	}
	if seen := s.requests(); len(seen) > 0 {
		t.Errorf("requests: %v", seen)
	}
}

// TestUnwatchedComesFirst: an unwatched child exists before the same plan creates what follows: no later plan would create it, as none
// sees that it is missing. A job that takes the name of one that has just been deleted finds the Service and the Secret of that one.
func TestUnwatchedComesFirst(t *testing.T) {
	for name, refusal := range map[string]struct {
		prepare func(*apiServer)
		repair  func(*apiServer)
	}{
		"refused": {
			func(s *apiServer) {
				s.failing(func(request string) *metav1.Status {
					if strings.HasPrefix(request, "POST secrets") {
						return statusOf(422)
					}
					return nil
				})
			},
			func(s *apiServer) { s.failing(nil) },
		},
		"of a widget that had the name": {
			func(s *apiServer) { s.put(secretPath, owned("older", "Widget", "a", "")) },
			func(s *apiServer) { s.locked(func() { s.Drop(secretPath) }) },
		},
		"somebody's": {
			func(s *apiServer) { s.put(secretPath, owned("", "", "", "")) },
			func(s *apiServer) { s.locked(func() { s.Drop(secretPath) }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			now := time.Unix(1000, 0)
			s.put(widgetsPath+"a", map[string]any{"uid": "mine"})
			a := newTestApplier(t, s, func(o *Options) {
				withSecrets(func() (map[string]any, error) {
					return map[string]any{"data": map[string]string{"k": "cHJpdmF0ZQ=="}}, nil
				})(o)
				o.Now = func() time.Time { return now }
			})
			head := s.head(t, "a")
			a.Store.SetVerified(head.Meta.UID)
			pod := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: bodyOf(schema.Pods(), "p")}
			plan := schema.Plan{Create: []schema.Object{secret("mine"), pod}}
			const podPath = "/api/v1/namespaces/ns/pods/p"
			refusal.prepare(s)
			for try := range 3 {
				requeue, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan)
				if err == nil && requeue <= 0 {
					t.Errorf("try %d: nobody comes back for it", try)
				}
				if s.object(podPath) != nil {
					t.Fatalf("try %d: the pod is created without what it needs", try)
				}
			}
			refusal.repair(s)
			now = now.Add(LastRefused)
			if _, err := a.Apply(t.Context(), &schema.Observed{Head: head}, plan); err != nil || s.object(podPath) == nil || s.object(secretPath) == nil {
				t.Errorf("they are not created when they may be: %v", err)
			}
		})
	}
}

// TestUnwatchedIsLookedAtOnce: a decision that needs an unwatched child names it each time, as it never sees it. That costs one request
// until the next check is due, and no other. A deleted one is created again then, for another plan, and whenever the plan creates what
// needs it. It never keeps a pod from being created.
func TestUnwatchedIsLookedAtOnce(t *testing.T) {
	s := newAPIServer(t)
	now := time.Unix(1000, 0)
	s.put(widgetsPath+"a", map[string]any{"uid": "mine"})
	s.put(secretPath, owned("mine", "Widget", "a", ""))
	a := newTestApplier(t, s, func(o *Options) {
		withSecrets(func() (map[string]any, error) { return nil, nil })(o)
		o.Now = func() time.Time { return now }
	})
	head := s.head(t, "a")
	a.Store.SetVerified(head.Meta.UID)
	const post, look = "POST secrets a-ssh", "GET secrets a-ssh"
	other := secret("mine")
	other.Body = schema.JSON(map[string]any{"metadata": withName(owned("mine", "Widget", "a", ""), "a-ssh"), "type": "u"})
	pod := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: bodyOf(schema.Pods(), "p")}
	for _, step := range []struct {
		what    string
		after   time.Duration
		deleted bool
		create  []schema.Object
		want    []string
		requeue time.Duration
	}{
		{what: "it is there", create: []schema.Object{secret("mine")}, want: []string{post, look}},
		{what: "nothing has happened", create: []schema.Object{secret("mine")}},
		{what: "the next look", after: FirstRefused, create: []schema.Object{secret("mine")}, want: []string{post, look}},
		{what: "another plan", create: []schema.Object{other}, want: []string{post, look}},
		{what: "with a pod", create: []schema.Object{other, pod}, want: []string{post, look, createPod}, requeue: RequeueFallback},
		{what: "deleted", deleted: true, create: []schema.Object{other}},
		{what: "deleted, and the next look", after: LastRefused, create: []schema.Object{other}, want: []string{post}},
		{what: "it was made", create: []schema.Object{other}},
		{what: "deleted, with a pod", deleted: true, create: []schema.Object{other, pod}, want: []string{post, createPod}, requeue: RequeueFallback},
	} {
		now = now.Add(step.after)
		if step.deleted {
			s.locked(func() { s.Drop(secretPath) })
		}
		s.requests()
		requeue, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Create: step.create})
		if err != nil || requeue != step.requeue {
			t.Errorf("%s: requeued in %s, want %s: %v", step.what, requeue, step.requeue, err)
		}
		got := slices.DeleteFunc(s.requests(), func(request string) bool { return request == "GET widgets a" }) // see verifyFresh
		if diff := cmp.Diff(step.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", step.what, diff)
		}
		s.locked(func() { s.Drop(podsPath + "p") })
	}
}

// TestPatchOfAStatus: a patch of a subresource is as conditional as one of the object, and is remembered separately.
func TestPatchOfAStatus(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	meta := s.put(gadgetsPath+"g", nil)
	s.locked(func() {
		stored := s.Store(gadgetsPath+"g", map[string]any{"status": map[string]any{"startTime": "2026-01-01T00:00:00Z", "active": 1}})
		meta.ResourceVersion = apimodel.Get(stored, "metadata", "resourceVersion").(string)
	})
	child := schema.Child{Namespace: "ns", Name: "g", UID: meta.UID, ResourceVersion: meta.ResourceVersion}
	patch := child.PatchStatus(gadgets(), map[string]any{"startTime": nil})
	if _, err := a.patch(t.Context(), someHead(), []schema.Patch{patch}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.patch(t.Context(), someHead(), []schema.Patch{patch}); ClassOf(err) != Retry {
		t.Errorf("at a version that is over: %v", err)
	}
	if diff := cmp.Diff([]string{"PATCH gadgets g status", "PATCH gadgets g status"}, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"active": int64(1)}, s.object(gadgetsPath + "g")["status"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.failing(func(request string) *metav1.Status {
		if strings.HasSuffix(request, "status") {
			return statusOf(422)
		}
		return nil
	})
	child.ResourceVersion = s.object(gadgetsPath + "g")["metadata"].(map[string]any)["resourceVersion"].(string)
	again := []schema.Patch{child.PatchStatus(gadgets(), map[string]any{"startTime": nil}), child.Patch(gadgets(), map[string]any{"spec": map[string]any{"suspend": false}})}
	for range 2 {
		_, _ = a.patch(t.Context(), someHead(), again[:1])
	}
	wait, err := a.patch(t.Context(), someHead(), again)
	if wait <= 0 || wait > time.Hour || err != nil {
		t.Errorf("waits for %v: %v", wait, err)
	}
	if diff := cmp.Diff([]string{"PATCH gadgets g status", "PATCH gadgets g"}, s.requests()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
