package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
			refused := true
			s.failing(func(request string) *metav1.Status {
				if request == createGadget && refused {
					return statusOf(code)
				}
				return nil
			})
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
			refused = false
			if _, err := a.Apply(t.Context(), seen, plan); err != nil || s.posts() != 1 || s.object(gadgetsPath+"h") == nil {
				t.Errorf("it is not created when it may be: %v", err)
			}
		})
	}
}

// TestOwnerOfTheSameNameInAnotherGroup: two kinds may have one name in two groups. The object of the other group is neither this object
// nor one of its predecessors, and nothing waits for its deletion.
func TestOwnerOfTheSameNameInAnotherGroup(t *testing.T) {
	for _, c := range []struct {
		name, apiVersion, kind, uid string
		conflict, old               bool
	}{
		{name: "ours", apiVersion: "example.org/v1", kind: "Widget", uid: "mine"},
		{name: "ours, written at another version", apiVersion: "example.org/v1beta1", kind: "Widget", uid: "mine"},
		{name: "of our predecessor, written at another version", apiVersion: "example.org/v1beta1", kind: "Widget", uid: "old", old: true},
		{name: "of another group", apiVersion: "example.com/v1", kind: "Widget", uid: "old", conflict: true},
		{name: "of the core group", apiVersion: "v1", kind: "Widget", uid: "old", conflict: true},
		{name: "our UID in another group", apiVersion: "example.com/v1", kind: "Widget", uid: "mine", conflict: true},
		{name: "our UID and another kind", apiVersion: "example.org/v1", kind: "Thing", uid: "mine", conflict: true},
		{name: "no version", apiVersion: "a/b/c", kind: "Widget", uid: "mine", conflict: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			s.put(podsPath+"a-0", map[string]any{"labels": map[string]any{"by": "me"}, "ownerReferences": []any{map[string]any{
				"apiVersion": c.apiVersion, "kind": c.kind, "name": "a", "uid": c.uid, "controller": true}}})
			_, err := a.createOne(t.Context(), someSeen(), schema.Object{Resource: schema.Pods(), Namespace: "ns", Name: "a-0",
				Body: json.RawMessage(`{"metadata":{"name":"a-0"}}`)})
			var conflict *conflictError
			if errors.As(err, &conflict) != c.conflict || errors.Is(err, errOldOwner) != c.old || (err == nil) == (c.conflict || c.old) {
				t.Errorf("error: %v", err)
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
			s.failing(func(request string) *metav1.Status {
				if strings.HasSuffix(request, " status") {
					return statusOf(code)
				}
				return nil
			})
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
	s.locked(func() {
		for _, o := range s.Objects("events") {
			if o["reason"] == reason {
				n++
			}
		}
	})
	return n
}
