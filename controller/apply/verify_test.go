package apply

import (
	"slices"
	"strings"
	"testing"
	"time"

	"stoic/schema"
)

// TestFinalizerGoesOnTheWordOfTheServer: what a finalizer guards may be missing only from a cache that lags behind an earlier leader.
// Before a finalizer is removed, the caches are verified once, as before a deletion.
func TestFinalizerGoesOnTheWordOfTheServer(t *testing.T) {
	s := newAPIServer(t)
	a := newTestApplier(t, s, nil)
	s.put(widgetsPath+"a", map[string]any{"finalizers": []any{"x"}})
	head := s.head(t, "a")
	apply := func(p schema.Plan) time.Duration {
		t.Helper()
		requeue, err := a.Apply(t.Context(), &schema.Observed{Head: head}, p)
		if err != nil {
			t.Fatal(err)
		}
		return requeue
	}
	if requeue := apply(schema.Plan{RemoveFinalizers: []string{"x"}}); requeue != RequeueNow {
		t.Errorf("decides again in %s, want at once", requeue)
	}
	if got := s.requests(); slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, "PATCH") }) || len(got) != 1 {
		t.Errorf("%v, want one look at the object and no write", got)
	}
	apply(schema.Plan{RemoveFinalizers: []string{"x"}})
	if has := s.head(t, "a").Meta.Finalizers; len(has) > 0 {
		t.Errorf("finalizers %v", has)
	}
	// An object that does not exist is not requested.
	s.requests()
	head = s.head(t, "a")
	a.Store.Forget(head.Meta.UID)
	if apply(schema.Plan{RemoveFinalizers: []string{"x"}}); len(s.requests()) > 0 {
		t.Error("requests for the sake of a finalizer that is not there")
	}
}
