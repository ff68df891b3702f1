package operator

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/training"
)

// An API server may send anything for a class; the value is clamped.
func TestSlimPriority(t *testing.T) {
	for name, c := range map[string]struct {
		object map[string]any
		want   training.PriorityState
	}{
		"a class":     {map[string]any{"value": int64(-7), "globalDefault": true}, training.PriorityState{Value: -7, GlobalDefault: true}},
		"too large":   {map[string]any{"value": int64(1) << 40}, training.PriorityState{Value: 1<<31 - 1}},
		"too small":   {map[string]any{"value": int64(-1) << 40}, training.PriorityState{Value: -1 << 31}},
		"other types": {map[string]any{"metadata": 7, "value": "x", "globalDefault": 1}, training.PriorityState{}},
		"nothing":     {nil, training.PriorityState{}},
	} {
		if got := slimPriority(&unstructured.Unstructured{Object: c.object}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
