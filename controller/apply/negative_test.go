package apply

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

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

// TestNegativeCacheIsBounded: the wait ends at LastRefused however often a write is refused, and a dependent has one entry however many
// writes of it are refused.
func TestNegativeCacheIsBounded(t *testing.T) {
	n := newNegativeCache()
	now, longest := time.Unix(1000, 0), time.Duration(0)
	for range 100 {
		n.note("u", "gadgets/a", "x", errInvalid, false, now)
		wait, _ := n.wait("u", "gadgets/a", "x", now)
		if wait < longest || wait > LastRefused {
			t.Fatalf("waits %s after %s", wait, longest)
		}
		longest = wait
		now = now.Add(wait)
	}
	if longest != LastRefused {
		t.Errorf("waits %s at last, want %s", longest, LastRefused)
	}
	for i := range 100 {
		n.note("u", "gadgets/a", string(rune('a'+i)), errInvalid, false, now)
	}
	if len(n.entries) != 1 || len(n.entries["u"]) != 1 {
		t.Errorf("%d owners with %d entries", len(n.entries), len(n.entries["u"]))
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

// TestStatusOfADependentThatHasNone: nothing is written, which is no success. A deleted dependent is a different case.
func TestStatusOfADependentThatHasNone(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(widgetsPath+"a", nil)
	secret := s.put("/api/v1/namespaces/ns/secrets/x", nil)
	seen := &schema.Observed{Head: s.head(t, "a"), Object: "widget"}
	a.Store.SetVerified(seen.Head.Meta.UID)
	statusOfA := func(name string) error {
		child := schema.Child{Namespace: "ns", Name: name, UID: secret.UID, ResourceVersion: secret.ResourceVersion}
		_, err := a.Apply(t.Context(), seen, schema.Plan{Patch: []schema.Patch{child.PatchStatus(schema.Secrets(), map[string]any{"x": "y"})}})
		return err
	}
	if err := statusOfA("x"); ClassOf(err) != Refused || !isForAuthor(err) || !strings.Contains(err.Error(), "no subresource status of secrets") {
		t.Errorf("%v of class %d, want one that is refused, for the author", err, ClassOf(err))
	}
	if got := s.reported(t, "WidgetFailed"); !strings.Contains(got, "no subresource status of secrets") {
		t.Errorf("the author is informed of %q", got)
	}
	if err := statusOfA("gone"); ClassOf(err) != Done {
		t.Errorf("a dependent that is gone: %v of class %d", err, ClassOf(err))
	}
}
