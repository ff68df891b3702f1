package cache

import (
	"context"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// TestStoreGoesBackWhileTheWatchStarts: a store goes back to the past before a request or after the last one. No watch continues from a
// version that the store has not reached. After the last request it is too late for a check, but the watch that runs then is one of the
// store as it was.
func TestStoreGoesBackWhileTheWatchStarts(t *testing.T) {
	const from, past = 100, 50
	for restored := range 4 {
		store, requests := from, 0
		watchedAt := 0 // where the store stood when the watch began
		request := func() {
			if requests == restored {
				store = past
			}
			requests++
		}
		started := apiwatch.NewFake()
		w, err := resumeWatch(t.Context(), metav1.ListOptions{ResourceVersion: strconv.Itoa(from)},
			func(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
				request()
				found := &unstructured.UnstructuredList{}
				found.SetResourceVersion(strconv.Itoa(store))
				return found, nil
			},
			func(context.Context, metav1.ListOptions) (apiwatch.Interface, error) {
				request()
				watchedAt = store
				return started, nil
			})
		switch {
		case apierrors.IsResourceExpired(err):
			if store != past || w != nil {
				t.Errorf("the store goes back at request %d: %v, although it has not gone back", restored, err)
			}
			if watchedAt > 0 && !started.IsStopped() {
				t.Errorf("the store goes back at request %d: the watch that was started goes on", restored)
			}
		case err != nil:
			t.Errorf("the store goes back at request %d: %v", restored, err)
		case watchedAt < from:
			t.Errorf("the store goes back at request %d: watched from %d in a store at %d", restored, from, watchedAt)
		}
	}
}
