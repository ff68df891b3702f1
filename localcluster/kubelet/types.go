// Package kubelet answers: what must kwok be given so that it does what a kubelet does? Types that it may look at from
// several goroutines, and deletions that name the UID.
package kubelet

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// LearnTypes makes the expression library behind kwok's stages look at the types
// of nodes and pods. The library remembers them in maps that have no lock, kwok
// fills them from one goroutine for nodes and another one for pods, and Go ends a
// process in which two goroutines write one map. A kwok that starts where there
// are pods already, as after every restart of the store, died of it now and then.
// What is remembered is only read. Call it before kwok starts, from one goroutine.
func LearnTypes(ctx context.Context) error {
	for _, object := range []any{&corev1.Node{}, &corev1.Pod{}} {
		if err := match(ctx, object); err != nil {
			return fmt.Errorf("learn the type %T: %w", object, err)
		}
	}
	return nil
}

// match asks a stage that takes everything, in the way in which kwok's controllers ask theirs.
func match(ctx context.Context, object any) error {
	stages, err := lifecycle.NewLifecycle([]*internalversion.Stage{{
		Spec: internalversion.StageSpec{Selector: &internalversion.StageSelector{}},
	}})
	if err != nil {
		return err
	}
	_, err = stages.Match(ctx, &lifecycle.Event{Data: object})
	return err
}
