package history

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Recorder keeps every version of every object that it watches.
type Recorder struct {
	running sync.WaitGroup

	mu    sync.Mutex
	lives map[key]*Life
	// early holds, by namespace, what no life that anybody asked for is made of yet.
	early map[string][]Version
	// over are lives that were forgotten: what is still told of them is not kept.
	over map[key]bool
	gaps []Gap
}

type key struct{ namespace, job string }

// Record watches resources in all namespaces until ctx ends. It returns when all that exists is known. A resource that
// is not served is watched as soon as it is.
func Record(ctx context.Context, config *rest.Config, resources ...schema.GroupVersionResource) (*Recorder, error) {
	own := rest.CopyConfig(config)
	own.QPS, own.RateLimiter = -1, nil
	client, err := dynamic.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make a client for the history: %w", err)
	}
	r := newRecorder()
	streams := make([]*stream, len(resources))
	for i, resource := range resources {
		streams[i] = newStream(r, resource, client.Resource(resource))
		r.running.Go(func() { streams[i].run(ctx) })
	}
	for _, s := range streams {
		select {
		case <-s.ready:
		case <-ctx.Done():
			r.running.Wait()
			return nil, fmt.Errorf("list %s: %w; %v", s.resource.Resource, context.Cause(ctx), s.last)
		}
	}
	return r, nil
}

func newRecorder() *Recorder {
	return &Recorder{lives: map[key]*Life{}, early: map[string][]Version{}, over: map[key]bool{}}
}

// Wait returns when nothing runs any more, after the end of the context.
func (r *Recorder) Wait() { r.running.Wait() }

// Life of a job: what was told of it so far, and what will be.
func (r *Recorder) Life(namespace, job string) *Life {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{namespace, job}
	if l := r.lives[k]; l != nil {
		return l
	}
	l := newLife(r, namespace, job)
	l.gaps = slices.Clone(r.gaps)
	r.lives[k] = l
	delete(r.over, k)
	r.early[namespace] = slices.DeleteFunc(r.early[namespace], func(v Version) bool {
		mine := slices.Contains(owners(v.Resource, v.Object), job)
		if mine {
			l.add(v)
		}
		return mine
	})
	return l
}

// Forget drops what was kept of a job. A life that somebody holds stays as it is.
func (r *Recorder) Forget(namespace, job string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := key{namespace, job}
	delete(r.lives, k)
	r.over[k] = true
}

// tell adds a version to the life that it is part of.
func (r *Recorder) tell(kind watch.EventType, resource schema.GroupVersionResource, u *unstructured.Unstructured) {
	u.SetManagedFields(nil) // most of an object, and no oracle looks at it
	v := Version{At: time.Now(), Type: kind, Resource: resource, Object: u}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, job := range owners(resource, u) {
		k := key{u.GetNamespace(), job}
		if l := r.lives[k]; l != nil {
			l.add(v)
			return
		}
		if r.over[k] {
			return
		}
	}
	r.early[u.GetNamespace()] = append(r.early[u.GetNamespace()], v)
}

// miss notes that versions may be missing.
func (r *Recorder) miss(resource schema.GroupVersionResource, why string) {
	gap := Gap{At: time.Now(), Resource: resource, Why: why}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, gap)
	for _, l := range r.lives {
		l.gaps = append(l.gaps, gap)
	}
}
