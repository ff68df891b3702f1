package plans

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/scenario"
)

// TestContentsAreJSON: what others write into a dependent is a patch whose numbers are those of JSON, whoever wrote it down, and it is
// each plan's own.
func TestContentsAreJSON(t *testing.T) {
	looked := 0
	for _, o := range scenario.Operators() {
		for _, c := range contents(o) {
			looked++
			first := (&unstructured.Unstructured{Object: c.patch(nil)}).DeepCopy().Object // it panics where a number is of another type
			if len(first) == 0 {
				t.Errorf("%s: %s changes nothing", o.Name, c.name)
			}
			clear(c.patch(nil))
			if len(c.patch(nil)) != len(first) {
				t.Errorf("%s: %s is shared by all plans", o.Name, c.name)
			}
		}
	}
	if looked < 5 {
		t.Errorf("%d contents", looked)
	}
}
