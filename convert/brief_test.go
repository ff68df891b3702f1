package convert

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/schema"
)

// TestBrief: the problems and warnings that are reported one by one are kept, and the others are counted.
func TestBrief(t *testing.T) {
	problems := func(n int) (all []schema.Problem) {
		for i := range n {
			all = append(all, schema.Problem{Code: schema.Conflict, Path: fmt.Sprintf("spec.x[%d]", i), Found: "x"})
		}
		return all
	}
	for _, n := range []int{0, 1, schema.MaxReported, schema.MaxReported + 1, 101} {
		head := &schema.Head{Warnings: problems(n)}
		r := &Result{Head: head, Rejection: &schema.Rejection{Problems: problems(n + 1)}}
		for range 2 { // a result that is brief stays as it is
			r = r.Brief()
			if diff := cmp.Diff(problems(n)[:min(n, schema.MaxReported)], r.Warnings); diff != "" || len(r.Warnings)+r.MoreWarnings != n {
				t.Errorf("%d warnings: %d and %d more\n%s", n, len(r.Warnings), r.MoreWarnings, diff)
			}
			if got := r.Rejection; !slices.Equal(got.Problems, problems(n + 1)[:min(n+1, schema.MaxReported)]) || len(got.Problems)+got.More != n+1 {
				t.Errorf("%d problems: %d and %d more", n+1, len(got.Problems), got.More)
			}
			if cap(r.Warnings) > schema.MaxReported+1 || cap(r.Rejection.Problems) > schema.MaxReported+1 {
				t.Errorf("room for %d warnings and %d problems is held", cap(r.Warnings), cap(r.Rejection.Problems))
			}
		}
	}
	object := &Result{Head: &schema.Head{Warnings: problems(9)}, Object: 7}
	if got := object.Brief(); got.Object == nil || got.Rejection != nil || len(got.Warnings) != schema.MaxReported || got.MoreWarnings != 4 {
		t.Errorf("got %+v", got)
	}
}
