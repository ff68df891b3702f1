package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// posts counts the creations since requests were last read.
func (s *apiServer) posts() (n int) {
	for _, request := range s.requests() {
		if strings.HasPrefix(request, http.MethodPost) {
			n++
		}
	}
	return n
}

// TestOptionalCreationThatIsForbidden: 403 and 404 on the creation of an optional dependent are retried with a back-off of their own. The
// reconciles that other events cause in between send nothing and are no failures, which would reset the back-off.
func TestOptionalCreationThatIsForbidden(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newAPIServer(t)
			now := time.Unix(1000, 0)
			a := newTestApplier(t, s, func(o *Options) { o.Now = func() time.Time { return now } })
			s.refusing(createGadget, statusOf(code))
			s.put(widgetsPath+"a", nil)
			seen := &schema.Observed{Head: s.head(t, "a")}
			a.Store.SetVerified(seen.Head.Meta.UID)
			plan := schema.Plan{Create: []schema.Object{{Resource: gadgets(), Namespace: "ns", Name: "h", Body: bodyOf(gadgets(), "h")}}}
			longest := time.Duration(0)
			for try := range 20 {
				if _, err := a.Apply(t.Context(), seen, plan); ClassOf(err) != Retry || !isForAuthor(err) || s.posts() != 1 {
					t.Fatalf("try %d: %v", try, err)
				}
				var wait time.Duration
				for range 3 {
					again, err := a.Apply(t.Context(), seen, plan)
					if err != nil || s.posts() != 0 || again <= 0 || again > LastRefused {
						t.Fatalf("after try %d, by an event: requeued in %s: %v", try, again, err)
					}
					wait = again
				}
				if try == 0 && wait > time.Second {
					t.Errorf("waits %s after the first refusal: what is missing often comes a moment later", wait)
				}
				if wait < longest {
					t.Errorf("waits %s after %s", wait, longest)
				}
				longest, now = wait, now.Add(wait)
			}
			if longest != LastRefused {
				t.Errorf("waits %s at last, want %s", longest, LastRefused)
			}
			s.failing(nil)
			if _, err := a.Apply(t.Context(), seen, plan); err != nil || s.posts() != 1 || s.object(gadgetsPath+"h") == nil {
				t.Errorf("it is not created when it may be: %v", err)
			}
		})
	}
}

// TestStatusThatIsRefused: if the API server refuses a status for a reason that is not transient, the user gets an event, once per
// generation.
func TestStatusThatIsRefused(t *testing.T) {
	for code, reported := range map[int]bool{http.StatusBadRequest: true, http.StatusForbidden: true, http.StatusMethodNotAllowed: true,
		http.StatusRequestEntityTooLarge: true, http.StatusUnprocessableEntity: true,
		http.StatusConflict: false, http.StatusInternalServerError: false, http.StatusServiceUnavailable: false} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			s.put(widgetsPath+"a", map[string]any{"generation": 1})
			s.refusing("* status", statusOf(code))
			plan := schema.Plan{Status: statusAt(1, "A"), Events: []schema.Event{{Type: "Warning", Reason: "Planned", Message: "planned"}}}
			apply := func() {
				if _, err := a.Apply(t.Context(), &schema.Observed{Head: s.head(t, "a")}, plan); err == nil {
					t.Error("no error")
				}
			}
			for range 5 {
				apply()
			}
			want := 0
			if reported {
				want = 1
				if got := s.reported(t, "WidgetFailed"); !strings.Contains(got, "Error recording the status") {
					t.Errorf("reported %q", got)
				}
				s.reported(t, "Planned")
			}
			a.Events.Drain(t.Context(), time.Minute)
			if got := s.events("WidgetFailed"); got != want {
				t.Errorf("%d events, want %d", got, want)
			}
			if !reported {
				return
			}
			s.put(widgetsPath+"a", map[string]any{"generation": 2, "uid": s.head(t, "a").Meta.UID})
			apply()
			a.Events.Drain(t.Context(), time.Minute)
			if got := s.events("WidgetFailed"); got != 2 {
				t.Errorf("%d events after the next generation, want 2", got)
			}
		})
	}
}

// events counts the stored events of a reason.
func (s *apiServer) events(reason string) (n int) {
	s.Locked(func() {
		for _, o := range s.Objects("events") {
			if o["reason"] == reason {
				n++
			}
		}
	})
	return n
}

// TestCauseOf: with the messages of Kubernetes 1.36.
func TestCauseOf(t *testing.T) {
	pods := runtimeschema.GroupResource{Resource: "pods"}
	forbidden := func(why string) error { return apierrors.NewForbidden(pods, "a", errors.New(why)) }
	for _, c := range []struct {
		err  error
		want schema.Cause
	}{
		{forbidden("exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5"), schema.CauseQuota},
		{forbidden("failed quota: small: must specify cpu for: tensorflow"), schema.CauseQuota},
		{forbidden("maximum cpu usage per Container is 1, but limit is 2"), schema.CauseLimitRange},
		{forbidden("cpu max limit to request ratio per Pod is 2, but provided ratio is 4.000000"), schema.CauseLimitRange},
		{forbidden(`violates PodSecurity "restricted:latest": runAsNonRoot != true`), schema.CausePodSecurity},
		{forbidden("no PriorityClass with name urgent was found"), schema.CausePriorityClass},
		{forbidden(`error looking up service account ns/trainer: serviceaccount "trainer" not found`), schema.CauseServiceAccount},
		{forbidden("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: exceeded quota: of words"), schema.CausePolicy},
		{errors.New(`admission webhook "w.example.com" denied the request: exceeded quota: of words`), schema.CauseWebhook},
		{apierrors.NewInternalError(errors.New(`failed calling webhook "w.example.com": connection refused`)), schema.CauseWebhook},
		{apierrors.NewForbidden(pods, "", errors.New(`User "o" cannot create resource "pods" in API group "" in the namespace "ns"`)), schema.CausePermission},
		{forbidden("something of a later version"), schema.CauseForbidden},
		{apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Pod"}, "a", nil), schema.CauseInvalid},
		{apierrors.NewBadRequest("x"), schema.CauseInvalid},
		{apierrors.NewRequestEntityTooLargeError("x"), schema.CauseInvalid},
		{apierrors.NewNotFound(pods, "a"), schema.CauseNotFound},
		{&conflictError{schema.Object{Resource: schema.Pods(), Name: "a"}, "Widget w", "widget"}, schema.CauseNameTaken},
		{&elsewhereError{schema.Object{Resource: schema.Pods(), Name: "a"}, apierrors.NewNotFound(pods, "a")}, schema.CauseNotFound},
		{errors.New("anything"), schema.CauseOther},
	} {
		if got := causeOf(fmt.Errorf("x: %w", &writeError{"create", schema.Pods(), "a", c.err})); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
}

// TestRefusedIsKnown: what the API server refuses is known until it is created; what it does not answer changes nothing.
func TestRefusedIsKnown(t *testing.T) {
	s, now := newAPIServer(t), time.Unix(1767225600, 0)
	a := newTestApplier(t, s, func(o *Options) { o.Now = func() time.Time { return now } })
	s.put(widgetsPath+"a", nil)
	head := s.head(t, "a")
	first := now
	refused := func(code int32, reason metav1.StatusReason, cause schema.Cause, since time.Time) []schema.Refusal {
		return []schema.Refusal{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Cause: cause, Reason: reason, Code: code, Since: since}}
	}
	for _, step := range []struct {
		name string
		code int
		want []schema.Refusal
	}{
		{"trouble", http.StatusInternalServerError, nil},
		{"refused", http.StatusForbidden, refused(403, metav1.StatusReasonForbidden, schema.CauseForbidden, first.Add(time.Minute))},
		{"again", http.StatusForbidden, refused(403, metav1.StatusReasonForbidden, schema.CauseForbidden, first.Add(time.Minute))},
		{"trouble in between", http.StatusInternalServerError, refused(403, metav1.StatusReasonForbidden, schema.CauseForbidden, first.Add(time.Minute))},
		{"for another cause", http.StatusUnprocessableEntity, refused(422, metav1.StatusReasonInvalid, schema.CauseInvalid, first.Add(4*time.Minute))},
		{"created", 0, nil},
	} {
		s.failing(nil)
		if step.code != 0 {
			s.refusing(createPod, statusOf(step.code))
		}
		a.Store.SetVerified(head.Meta.UID)
		_, err := a.Apply(t.Context(), &schema.Observed{Head: head}, schema.Plan{Create: []schema.Object{{Resource: schema.Pods(), Namespace: "ns", Name: "p", Body: []byte(`{"metadata":{"name":"p"}}`)}}})
		if (err != nil) != (step.code != 0) {
			t.Errorf("%s: %v", step.name, err)
		}
		got := a.Refused(head.Meta.UID)
		for i := range got {
			if got[i].Message == "" || len(got[i].Message) > schema.MaxRefusal {
				t.Errorf("%s: message %q", step.name, got[i].Message)
			}
			got[i].Message = ""
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		now = now.Add(time.Minute)
	}
}

// TestRefusalsAreBounded: in number, and in time if they are not repeated.
func TestRefusalsAreBounded(t *testing.T) {
	now := time.Unix(1767225600, 0)
	n := newRefusals(func() time.Time { return now })
	for i := range 10 * mostRefusals {
		name := fmt.Sprintf("p-%03d", i)
		n.note("u", schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: name}, &writeError{"create", schema.Pods(), name, apierrors.NewBadRequest("x")})
	}
	if got := n.of("u"); len(got) != mostRefusals || got[0].Name != "p-000" || got[mostRefusals-1].Name != fmt.Sprintf("p-%03d", mostRefusals-1) {
		t.Errorf("%d: %+v", len(got), got)
	}
	now = now.Add(refusalHolds)
	if got := n.of("u"); len(got)+len(n.entries) != 0 {
		t.Errorf("later: %+v, %d objects", got, len(n.entries))
	}
}

// TestOneEventForOneCause: which child is refused, and how much of a quota is used, changes from try to try; what it means does not.
func TestOneEventForOneCause(t *testing.T) {
	a := newTestApplier(t, newAPIServer(t), nil)
	quota := func(name string, used int) error {
		return &writeError{"create", schema.Pods(), name, apierrors.NewForbidden(runtimeschema.GroupResource{Resource: "pods"}, name, fmt.Errorf("exceeded quota: small, used: pods=%d", used))}
	}
	one, other := a.refusal("creating", quota("p-0", 3), "generation 1"), a.refusal("creating", quota("p-1", 4), "generation 1")
	if one.Key == "" || one.Key != other.Key || one.Message == other.Message {
		t.Errorf("%+v and %+v", one, other)
	}
	if diff := cmp.Diff(&schema.Count{Counter: schema.CountRefused, Reason: string(schema.CauseQuota)}, one.Count); diff != "" {
		t.Error(diff)
	}
	invalid := a.refusal("creating", &writeError{"create", schema.Pods(), "p-0", apierrors.NewBadRequest("x")}, "generation 1")
	deletion := a.refusal("deleting", &writeError{"delete", schema.Pods(), "p-0", apierrors.NewBadRequest("x")}, "generation 1")
	taken := a.refusal("creating", &conflictError{schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "p-0"}, "Widget w", "widget"}, "generation 1")
	if invalid.Key == one.Key || deletion.Key == invalid.Key || deletion.Count != nil || taken.Key != "" || taken.Count.Reason != string(schema.CauseNameTaken) {
		t.Errorf("%+v, %+v, %+v", invalid, deletion, taken)
	}
}

var errInvalid = apierrors.NewInvalid(runtimeschema.GroupKind{Kind: "Gadget"}, "a", nil)

// TestNegativeCache: how long the same write is left out, and whether that is worth a requeue, after each outcome in turn.
func TestNegativeCache(t *testing.T) {
	n := newNegativeCache()
	now := time.Unix(1000, 0)
	for _, step := range []struct {
		what, asked   string
		err           error
		changed       bool
		wait, requeue time.Duration
	}{
		{"refused", "x", errInvalid, false, FirstRefused, FirstRefused},
		{"refused again", "x", errInvalid, false, 2 * FirstRefused, 2 * FirstRefused},
		{"something else is refused", "y", errInvalid, false, FirstRefused, FirstRefused},
		{"taken without effect", "y", nil, false, 2 * FirstRefused, 0},
		{"taken with effect", "y", nil, true, 0, 0},
		{"refused after that", "y", errInvalid, false, FirstRefused, FirstRefused},
		{"it only failed: that is the back-off's", "y", errors.New("down"), false, 0, 0},
	} {
		n.note("u", "gadgets/a", step.asked, step.err, step.changed, now)
		if wait, requeue := n.wait("u", "gadgets/a", step.asked, now); wait != step.wait || requeue != step.requeue {
			t.Errorf("%s: wait %s and requeue in %s, want %s and %s", step.what, wait, requeue, step.wait, step.requeue)
		}
		if wait, requeue := n.wait("u", "gadgets/a", "another", now); wait != 0 || requeue != 0 {
			t.Errorf("%s: another write of it waits %s", step.what, wait)
		}
		for _, other := range [][2]string{{"u", "gadgets/b"}, {"v", "gadgets/a"}} {
			if wait, _ := n.wait(types.UID(other[0]), other[1], step.asked, now); wait != 0 {
				t.Errorf("%s: a write of %v waits %s", step.what, other, wait)
			}
		}
		if wait, _ := n.wait("u", "gadgets/a", step.asked, now.Add(step.wait)); wait != 0 {
			t.Errorf("%s: it waits %s after its time", step.what, wait)
		}
	}
	if len(n.entries) != 0 {
		t.Errorf("kept: %v", n.entries)
	}
}

// TestApplierForgets: nothing is kept in memory of an object that is gone, whether its end was seen or missed.
func TestApplierForgets(t *testing.T) {
	a := newTestApplier(t, newAPIServer(t), nil)
	going := &apierrors.StatusError{ErrStatus: terminatingStatus("ns")}
	for _, uid := range []types.UID{"seen", "missed", "there"} {
		a.negative.note(uid, "gadgets/a", "x", errInvalid, false, a.Now())
		a.terminating.note(uid, []error{going})
		a.pruning.note(uid, statusAt(1, "A"), stored{})
	}
	kept := func(uid types.UID) int {
		kept := 0
		if wait, _ := a.negative.wait(uid, "gadgets/a", "x", a.Now()); wait > 0 {
			kept++
		}
		if a.terminating.wait(uid) > 0 {
			kept++
		}
		if _, ok := a.pruning.entries[uid]; ok {
			kept++
		}
		return kept
	}
	if kept("seen") != 3 || kept("missed") != 3 {
		t.Fatalf("kept: %d, %d: this shows nothing", kept("seen"), kept("missed"))
	}
	a.Forget("seen")
	a.ForgetAll(func(uid types.UID) bool { return uid == "missed" })
	if kept("seen") != 0 || kept("missed") != 0 || kept("there") != 3 {
		t.Errorf("kept: %d, %d, and %d of what is there", kept("seen"), kept("missed"), kept("there"))
	}
}

// TestDependentsThatAreGoneAreForgotten: an owner has one dependent after the other, each with another name, and every write of one is
// refused. No entry of a deleted dependent is kept.
func TestDependentsThatAreGoneAreForgotten(t *testing.T) {
	s := newAPIServer(t)
	now := time.Unix(1000, 0)
	a := newTestApplier(t, s, func(o *Options) { o.Now = func() time.Time { return now } })
	s.put(widgetsPath+"a", nil)
	seen := &schema.Observed{Head: s.head(t, "a"), Object: "widget"}
	a.Store.SetVerified(seen.Head.Meta.UID)
	s.failing(func(request string) *metav1.Status {
		if strings.HasPrefix(request, "PATCH pods") || strings.HasPrefix(request, "POST gadgets") {
			return statusOf(http.StatusUnprocessableEntity)
		}
		return nil
	})
	for i := range 50 {
		name := fmt.Sprintf("run-%d", i)
		pod := s.put(podsPath+name, nil)
		child := schema.Child{Namespace: "ns", Name: name, UID: pod.UID, ResourceVersion: pod.ResourceVersion}
		_, _ = a.Apply(t.Context(), seen, schema.Plan{Patch: []schema.Patch{child.Patch(schema.Pods(), map[string]any{"spec": map[string]any{"x": 1}})},
			Create: []schema.Object{{Resource: gadgets(), Namespace: "ns", Name: name, Body: bodyOf(gadgets(), name)}}})
		now = now.Add(time.Hour) // the pod is deleted by then, and no plan has the gadget
	}
	if n := len(a.negative.entries[seen.Head.Meta.UID]); n > 2 {
		t.Errorf("%d entries are kept, of which the last is an hour old", n)
	}
}

// slowServer is a model of the API server whose answers to creations of pods and gadgets take a time, by a clock of its own.
type slowServer struct {
	*apiServer
	code int // of the answer; 0: it creates
	took time.Duration
	// passed is what its clock shows; answers of creations that run in parallel set it forward.
	passed atomic.Int64
}

func (s *slowServer) now() time.Time { return time.Unix(1000, s.passed.Load()) }

func (s *slowServer) pass(d time.Duration) { s.passed.Add(int64(d)) }

func newSlowServer(t *testing.T) (*slowServer, *Applier) {
	s := &slowServer{apiServer: newAPIServer(t)}
	s.failing(func(request string) *metav1.Status {
		if request != createPod && request != createGadget && request != patchGadget {
			return nil
		}
		s.pass(s.took)
		if s.code == 0 {
			return nil
		}
		return statusOf(s.code)
	})
	return s, newTestApplier(t, s.apiServer, func(o *Options) { o.Now = s.now })
}

// podsOf returns a plan that creates so many pods.
func podsOf(n int) schema.Plan {
	var plan schema.Plan
	for i := range n {
		plan.Create = append(plan.Create, schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: fmt.Sprint("p-", i), Body: bodyOf(schema.Pods(), "p")})
	}
	return plan
}

// TestCostlyCreation: a creation on which the API server has worked for long in vain is not repeated by the events of the object, and less
// and less often by its back-off. An edit ends the wait, and another object does not wait.
func TestCostlyCreation(t *testing.T) {
	for name, c := range map[string]struct {
		code  int
		took  time.Duration
		waits []time.Duration // after each try; nil: nothing is left out
	}{
		"refused":                      {422, 20 * time.Second, []time.Duration{200 * time.Second, LastRefused, LastRefused, LastRefused}},
		"refused, for the first time":  {422, time.Second, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}},
		"refused soon":                 {422, time.Second - 1, nil},
		"too large":                    {413, 2 * time.Second, []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second}},
		"timed out":                    {504, 34 * time.Second, []time.Duration{34 * time.Second, 68 * time.Second, longestTimeout, longestTimeout}},
		"forbidden, by a slow webhook": {403, 20 * time.Second, nil},
		"unavailable for long":         {503, 20 * time.Second, nil},
		"too many requests":            {429, 20 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, a := newSlowServer(t)
			s.code, s.took = c.code, c.took
			s.put(widgetsPath+"a", map[string]any{"generation": 1})
			s.put(widgetsPath+"b", nil)
			seen := &schema.Observed{Head: s.head(t, "a")}
			apply := func() (time.Duration, int, error) {
				a.Store.SetVerified(seen.Head.Meta.UID)
				again, err := a.Apply(t.Context(), seen, podsOf(1))
				return again, s.posts(), err
			}
			for try, want := range c.waits {
				if _, posts, err := apply(); err == nil || posts != 1 {
					t.Fatalf("try %d: %d posts: %v", try, posts, err)
				}
				for range 3 {
					if again, posts, err := apply(); err != nil || posts != 0 || again != want {
						t.Errorf("after try %d, by an event: %d posts, again in %s, want %s: %v", try, posts, again, want, err)
					}
				}
				other := &schema.Observed{Head: s.head(t, "b")}
				a.Store.SetVerified(other.Head.Meta.UID)
				sound := schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: fmt.Sprint("q-", try), Body: bodyOf(schema.Pods(), fmt.Sprint("q-", try))}
				if _, err := a.Apply(t.Context(), other, schema.Plan{Create: []schema.Object{sound}}); err != nil || s.posts() != 1 {
					t.Errorf("another object waits, too: %v", err)
				}
				s.pass(want)
			}
			if _, posts, err := apply(); err == nil || posts != 1 {
				t.Fatalf("after its time: %d posts: %v", posts, err)
			}
			seen.Head.Meta.Generation++
			if _, posts, err := apply(); err == nil || posts != 1 {
				t.Errorf("edited: %d posts: %v", posts, err)
			}
			seen.Head.Meta.Generation++
			s.code = 0
			if _, posts, err := apply(); err != nil || posts != 1 {
				t.Errorf("repaired: %d posts: %v", posts, err)
			}
			if len(a.costly.entries) > 0 {
				t.Errorf("kept after a success: %v", a.costly.entries)
			}
			a.Events.Drain(t.Context(), time.Minute)
			want := 0
			if c.code == http.StatusGatewayTimeout {
				want = 1 // of the first generation: after the edit it timed out once
			}
			if got := s.messages("PodsCreateFailed", "has not completed it in time, again"); got != want {
				t.Errorf("%d events report that it has timed out again, want %d", got, want)
			}
		})
	}
}

// messages counts the stored events of a reason whose message contains these words.
func (s *apiServer) messages(reason, words string) (n int) {
	s.Locked(func() {
		for _, o := range s.Objects("events") {
			if message, _ := o["message"].(string); o["reason"] == reason && strings.Contains(message, words) {
				n++
			}
		}
	})
	return n
}

// TestRefusalOfAWholeNamespace: a small new object has all its children in one round trip. If its namespace, or a quota of it, refuses
// them all, that costs up to maxConcurrent requests, once per namespace and not per object. After a creation that succeeded, or after
// enough time, it is one round trip again.
func TestRefusalOfAWholeNamespace(t *testing.T) {
	quota, going := statusOf(http.StatusForbidden), terminatingStatus("ns")
	for name, answer := range map[string]*metav1.Status{"a quota": quota, "its deletion": &going} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			now, refused := time.Unix(1000, 0), true
			a := newTestApplier(t, s, func(o *Options) { o.Now = func() time.Time { return now } })
			s.failing(func(request string) *metav1.Status {
				if strings.HasPrefix(request, "POST pods") && refused {
					return answer
				}
				return nil
			})
			create := func(namespace, name string) int {
				head := &schema.Head{Resource: widgets(), Meta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name)}}
				var pods []schema.Object
				for i := range 10 {
					pod := strings.ReplaceAll(fmt.Sprint(name, "-", i), " ", "-")
					pods = append(pods, schema.Object{Resource: schema.Pods(), Namespace: namespace, Name: pod, Body: fmt.Appendf(nil, `{"metadata":{"name":%q}}`, pod)})
				}
				if _, err := a.create(t.Context(), &schema.Observed{Head: head}, pods); (err != nil) != refused {
					t.Errorf("%s: %v", name, err)
				}
				return s.posts()
			}
			for _, step := range []struct {
				what, namespace string
				wait            time.Duration
				refused         bool
				posts           int
			}{
				{"the first object", "ns", 0, true, 10},
				{"the next one", "ns", 0, true, 1},
				{"and one more", "ns", time.Minute, true, 1},
				{"in another namespace", "other", 0, true, 10},
				{"while the last refusal is remembered", "ns", LastRefused - time.Second, true, 1},
				{"after a long time without any", "ns", LastRefused + time.Second, true, 10},
				{"it is let through", "ns", 0, false, 10},
				{"as if nothing had been", "ns", 0, true, 10},
			} {
				now, refused = now.Add(step.wait), step.refused
				if posts := create(step.namespace, step.what); posts != step.posts {
					t.Errorf("%s: %d creations were asked for, want %d", step.what, posts, step.posts)
				}
			}
			if refused = true; len(a.cautious.until) > 2 {
				t.Errorf("kept: %v", a.cautious.until)
			}
			now = now.Add(LastRefused + time.Second)
			if create("third", "a"); len(a.cautious.until) != 1 {
				t.Errorf("kept of what is long over: %v", a.cautious.until)
			}
		})
	}
}
