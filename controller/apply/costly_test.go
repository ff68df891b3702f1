package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

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
	s.locked(func() {
		for _, o := range s.Objects("events") {
			if message, _ := o["message"].(string); o["reason"] == reason && strings.Contains(message, words) {
				n++
			}
		}
	})
	return n
}

// TestCostlyErrors: the mark of a costly write changes nothing else of an error, and it is found among others.
func TestCostlyErrors(t *testing.T) {
	invalid := &writeError{"create", schema.Pods(), "a", apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "a", nil)}
	marked := withCost(invalid, time.Minute)
	if ClassOf(marked) != Refused || !isForAuthor(marked) || marked.Error() != invalid.Error() || causeOf(marked) != schema.CauseInvalid {
		t.Errorf("class %v, cause %v: %v", ClassOf(marked), causeOf(marked), marked)
	}
	for name, c := range map[string]struct {
		err   error
		first time.Duration
	}{
		"none":                {nil, 0},
		"unmarked":            {invalid, 0},
		"beside another":      {errors.Join(errors.New("down"), marked), costlyShare * time.Minute},
		"our own limit":       {withCost(fmt.Errorf("post: %w", context.DeadlineExceeded), time.Minute), time.Minute},
		"canceled":            {withCost(fmt.Errorf("post: %w", context.Canceled), time.Minute), 0},
		"no error, but long":  {withCost(nil, time.Minute), 0},
		"a timeout of etcd":   {withCost(apierrors.NewServerTimeout(corev1.Resource("pods"), "create", 1), time.Minute), 0},
		"a namespace is gone": {withCost(&apierrors.StatusError{ErrStatus: terminatingStatus("ns")}, time.Minute), 0},
	} {
		if first, _ := waitAfter(c.err); first != c.first {
			t.Errorf("%s: waits %s, want %s", name, first, c.first)
		}
	}
	if code := http.StatusGatewayTimeout; !isTimeout(&apierrors.StatusError{ErrStatus: *statusOf(code)}) {
		t.Errorf("%d of the model is no timeout", code)
	}
}
