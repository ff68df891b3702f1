package malformed

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestWaiting: while the pods of a healthy object wait for a scheduler or a node, the start of any other pod is progress. Once
// its own have started, only the operator's writes count.
func TestWaiting(t *testing.T) {
	p := &plane{sight: &sight{objects: map[types.UID]*seen{}, pending: map[types.UID]string{}}}
	pod := func(namespace, uid string, phase corev1.PodPhase, gone bool) {
		u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": string(phase)}}}
		u.SetNamespace(namespace)
		u.SetUID(types.UID(uid))
		p.sight.pod(u, gone)
	}
	var last string
	for _, step := range []struct {
		what, namespace, uid string
		phase                corev1.PodPhase
		gone, moves          bool
	}{
		{"another pod waits", space(0), "a", corev1.PodPending, false, false},
		{"another pod starts", space(0), "a", corev1.PodRunning, false, false},
		{"its pod waits", quietSpace, "own", "", false, true},
		{"its pod still waits", quietSpace, "own", corev1.PodPending, false, false},
		{"another pod waits meanwhile", space(0), "b", corev1.PodPending, false, false},
		{"that one starts", space(0), "b", corev1.PodRunning, false, true},
		{"that one ends", space(0), "b", corev1.PodSucceeded, false, false},
		{"one is deleted while it waits", space(1), "c", corev1.PodPending, false, false},
		{"it is gone", space(1), "c", corev1.PodPending, true, true},
		{"its pod starts", quietSpace, "own", corev1.PodRunning, false, true},
		{"another pod waits, when its own has started", space(0), "d", corev1.PodPending, false, false},
		{"another pod starts, when its own has started", space(0), "d", corev1.PodRunning, false, false},
	} {
		if last == "" {
			last = p.progress(seen{versions: 2})
		}
		pod(step.namespace, step.uid, step.phase, step.gone)
		now := p.progress(seen{versions: 2})
		if moved := now != last; moved != step.moves {
			t.Errorf("%s: moved is %v; before %q, then %q", step.what, moved, last, now)
		}
		last = now
	}
	if now := p.progress(seen{versions: 3}); now == last {
		t.Errorf("a new version is no move: %q", now)
	}
}
