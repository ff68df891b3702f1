package convert

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/training/kinds"
)

// TestSpecIsComplete: the shape of a kind's spec, which consists of parts, has all fields of the wire form
// from which the CRD is generated.
func TestSpecIsComplete(t *testing.T) {
	want := shapes.Of(reflect.TypeFor[kinds.TFJobSpec]()).Names()
	if diff := cmp.Diff(want, objectOf(kinds.TFJob()).Field("spec").Names()); diff != "" {
		t.Error(diff)
	}
}
