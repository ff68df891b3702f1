package convert

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

func TestSlimPod(t *testing.T) {
	ready := func(phase string, more ...any) map[string]any {
		return map[string]any{"phase": phase, "conditions": append([]any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}}, more...)}
	}
	since := metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		object map[string]any
		want   schema.Pod
	}{
		"nothing":      {nil, schema.Pod{}},
		"other types":  {map[string]any{"metadata": int64(1), "status": []any{}}, schema.Pod{}},
		"odd items":    {map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": int64(7), "b": nil}}, "status": map[string]any{"phase": int64(1), "conditions": []any{nil, "x", map[string]any{"type": []any{}}}}}, schema.Pod{}},
		"ready":        {map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "x", "c": "not asked for"}}, "status": ready("Running", nil)}, schema.Pod{Labels: schema.LabelsOf(map[string]string{"a": "x"}), Ready: true, ReadySince: since}},
		"finished":     {map[string]any{"status": ready("Failed")}, schema.Pod{Finished: true}},
		"succeeded":    {map[string]any{"status": ready("Succeeded")}, schema.Pod{Finished: true}},
		"not ready":    {map[string]any{"status": map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}}, schema.Pod{}},
		"without time": {map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": int64(7)}}}}, schema.Pod{Ready: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(any(c.want), SlimPod("a", "b")(&unstructured.Unstructured{Object: c.object})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
