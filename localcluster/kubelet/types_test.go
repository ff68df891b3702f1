package kubelet

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Under the race detector it fails without LearnTypes.
func TestNodesAndPodsAtOnce(t *testing.T) {
	if err := LearnTypes(t.Context()); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}} {
		both.Go(func() {
			if err := match(t.Context(), object); err != nil {
				t.Errorf("match %T: %v", object, err)
			}
		})
	}
	both.Wait()
}
