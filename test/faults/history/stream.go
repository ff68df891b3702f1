package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// stream follows one resource. A watch that ends is resumed where it ended, so that nothing is missed or reported twice. The
// resource is listed again only if the API server no longer has that version.
//
//	at      then
//	""      list: what differs from what is known is reported
//	a       watch from a
type stream struct {
	recorder *Recorder
	resource schema.GroupVersionResource
	objects  dynamic.ResourceInterface
	ready    chan struct{} // closed after the first list
	begun    sync.Once
	last     error // written before ctx ends, read after

	at string
	// known is what exists, by namespace and name.
	known map[string]*unstructured.Unstructured
	// lost says why versions may be missing at the next list; "" if none can be.
	lost string
}

func newStream(r *Recorder, resource schema.GroupVersionResource, objects dynamic.ResourceInterface) *stream {
	return &stream{recorder: r, resource: resource, objects: objects, ready: make(chan struct{}),
		known: map[string]*unstructured.Unstructured{}}
}

// again is the delay before a failed request is retried.
const again = 100 * time.Millisecond

func (s *stream) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.follow(ctx)
		if err == nil {
			continue
		}
		s.last = err
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// follow lists if necessary, then watches until the watch ends.
func (s *stream) follow(ctx context.Context) error {
	if s.at == "" {
		if err := s.list(ctx); err != nil {
			return err
		}
	}
	w, err := s.objects.Watch(ctx, metav1.ListOptions{ResourceVersion: s.at, AllowWatchBookmarks: true})
	if err != nil {
		return s.doubt(fmt.Errorf("watch %s: %w", s.resource.Resource, err))
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if err := s.take(event); err != nil {
			return s.doubt(err)
		}
	}
	return nil
}

// doubt decides after an error whether the watch can be resumed.
func (s *stream) doubt(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		s.at, s.lost = "", err.Error()
	}
	return err
}

func (s *stream) take(event watch.Event) error {
	if event.Type == watch.Error {
		return fmt.Errorf("watch %s: %w", s.resource.Resource, apierrors.FromObject(event.Object))
	}
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return errors.New("a watch of unstructured objects tells of a " + fmt.Sprintf("%T", event.Object))
	}
	s.at = u.GetResourceVersion()
	switch event.Type {
	case watch.Added, watch.Modified:
		s.known[where(u)] = u
		s.recorder.tell(event.Type, s.resource, u)
	case watch.Deleted:
		delete(s.known, where(u))
		s.recorder.tell(event.Type, s.resource, u)
	}
	return nil
}

func where(u *unstructured.Unstructured) string { return u.GetNamespace() + "/" + u.GetName() }

// list lists what exists. If the resource is not served, nothing exists, and objects created before it is found may be missed.
func (s *stream) list(ctx context.Context) error {
	list, err := s.objects.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		s.differ(&unstructured.UnstructuredList{})
		s.lost = err.Error()
		s.begun.Do(func() { close(s.ready) })
		return err
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", s.resource.Resource, err)
	}
	if s.lost != "" && len(s.known)+len(list.Items) > 0 {
		s.recorder.miss(s.resource, s.lost)
	}
	s.lost = ""
	s.differ(list)
	s.at = list.GetResourceVersion()
	s.begun.Do(func() { close(s.ready) })
	return nil
}

// differ reports how a list differs from what is known. The time of a deletion is unknown, but it was before the successor was created.
func (s *stream) differ(list *unstructured.UnstructuredList) {
	found := make(map[string]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		found[where(&list.Items[i])] = &list.Items[i]
	}
	for at, old := range s.known {
		now := found[at]
		if now != nil && now.GetUID() == old.GetUID() {
			continue
		}
		gone := old.DeepCopy()
		if now != nil {
			gone.SetResourceVersion(now.GetResourceVersion())
		} else if version := list.GetResourceVersion(); version != "" {
			gone.SetResourceVersion(version)
		}
		delete(s.known, at)
		s.recorder.tell(watch.Deleted, s.resource, gone)
	}
	for at, now := range found {
		old := s.known[at]
		if old != nil && old.GetResourceVersion() == now.GetResourceVersion() {
			continue
		}
		s.known[at] = now
		kind := watch.Modified
		if old == nil {
			kind = watch.Added
		}
		s.recorder.tell(kind, s.resource, now)
	}
}
