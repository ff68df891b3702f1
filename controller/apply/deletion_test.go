package apply

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/controller/consistency"
	"stoic/schema"
)

// TestDeletionOfAChildAsSeen: the API server answers 409 to a deletion that names a resourceVersion; what that means depends on what the
// child is now. A conflict that remains is retried with a back-off; only a cache that is behind is waited for.
func TestDeletionOfAChildAsSeen(t *testing.T) {
	const deletes, looks = "DELETE gadgets g", "GET gadgets g"
	for name, c := range map[string]struct {
		finalizers []any
		prepare    func(*apiServer, *schema.Deletion)
		want       []string
		class      Class
		left       bool
	}{
		"as seen": {want: []string{deletes}},
		// An API server that removes the finalizer refuses every version after that, as for the object itself.
		"the finalizer orphan": {finalizers: []any{"orphan"}, want: []string{deletes, looks, deletes}},
		"a webhook says 409": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.failing(func(request string) *metav1.Status {
				if request == deletes {
					return statusOf(http.StatusConflict)
				}
				return nil
			})
		}, want: []string{deletes, looks, deletes}, class: Retry, left: true},
		"changed": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.put(gadgetsPath+"g", map[string]any{"labels": map[string]any{"x": "y"}})
		}, want: []string{deletes, looks}, class: Behind, left: true},
		"replaced": {prepare: func(_ *apiServer, d *schema.Deletion) {
			d.UID = "of the one before"
		}, want: []string{deletes, looks}, class: Retry, left: true},
		"gone meanwhile": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.failing(func(request string) *metav1.Status {
				if request != deletes {
					return nil
				}
				s.Drop(gadgetsPath + "g")
				return statusOf(http.StatusConflict)
			})
		}, want: []string{deletes, looks}},
		"the look fails": {prepare: func(s *apiServer, _ *schema.Deletion) {
			s.failing(func(request string) *metav1.Status {
				return statusOf(map[bool]int{true: http.StatusConflict, false: http.StatusInternalServerError}[request == deletes])
			})
		}, want: []string{deletes, looks}, class: Retry, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			a := newTestApplier(t, s, nil)
			seen := s.put(gadgetsPath+"g", map[string]any{"finalizers": c.finalizers})
			d := schema.Deletion{Resource: gadgets(), Namespace: "ns", Name: "g", UID: seen.UID, ResourceVersion: seen.ResourceVersion}
			if c.prepare != nil {
				c.prepare(s, &d)
			}
			err := a.remove(t.Context(), someHead(), schema.Plan{Delete: []schema.Deletion{d}}, "7")
			if ClassOf(err) != c.class || err != nil && !strings.Contains(err.Error(), "delete Gadget g") {
				t.Errorf("error of class %d, want %d: %v", ClassOf(err), c.class, err)
			}
			if diff := cmp.Diff(c.want, s.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if left := s.object(gadgetsPath+"g") != nil; left != c.left {
				t.Errorf("it is there: %v", left)
			}
			at := func() string { return seen.ResourceVersion } // of a cache that shows the child as it was seen
			waits := a.Store.Check("mine", at, []func() string{nil, nil, at}) != consistency.Fresh ||
				a.Store.CheckChildren("mine", slices.Values([]types.UID{seen.UID})) != consistency.Fresh
			if want := c.class != Retry; waits != want {
				t.Errorf("the cache that shows the child as it was seen is waited for: %v, want %v", waits, want)
			}
		})
	}
}
