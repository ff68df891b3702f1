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

	mu   sync.Mutex
	runs map[key]*Run // by each namespace of the run
	// early holds, by namespace, the versions that belong to no requested run yet.
	early map[string][]Version
	// over are the runs that were forgotten: further versions of them are dropped.
	over map[key]Subject
	gaps []Gap
}

type key struct{ namespace, name string }

// Record watches resources in all namespaces until ctx ends. It returns when everything that exists is known. A resource that is
// not served yet is watched as soon as it is.
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
	return &Recorder{runs: map[key]*Run{}, early: map[string][]Version{}, over: map[key]Subject{}}
}

// Wait returns when nothing runs any longer, after the end of the context.
func (r *Recorder) Wait() { r.running.Wait() }

// RunOf returns the run of a subject: what was recorded so far, and what will be.
func (r *Recorder) RunOf(s Subject) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.runs[key{s.Namespace, s.Name}]; l != nil {
		return l
	}
	l := newRun(r, s)
	l.gaps = slices.Clone(r.gaps)
	for _, namespace := range s.namespaces() {
		k := key{namespace, s.Name}
		r.runs[k] = l
		delete(r.over, k)
		r.early[namespace] = slices.DeleteFunc(r.early[namespace], func(v Version) bool {
			mine := s.takes(v)
			if mine {
				l.add(v)
			}
			return mine
		})
	}
	return l
}

// Forget drops what was kept of a subject. A run that a caller still holds keeps its versions.
func (r *Recorder) Forget(s Subject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, namespace := range s.namespaces() {
		k := key{namespace, s.Name}
		delete(r.runs, k)
		r.over[k] = s
	}
}

// tell adds a version to the run to which it belongs.
func (r *Recorder) tell(kind watch.EventType, resource schema.GroupVersionResource, u *unstructured.Unstructured) {
	u.SetManagedFields(nil) // most of an object, and no oracle looks at it
	v := Version{At: time.Now(), Type: kind, Resource: resource, Object: u}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range candidates(v) {
		k := key{u.GetNamespace(), name}
		if l := r.runs[k]; l != nil && l.subject.takes(v) {
			l.add(v)
			return
		}
		if s, over := r.over[k]; over && s.takes(v) {
			return
		}
	}
	r.early[u.GetNamespace()] = append(r.early[u.GetNamespace()], v)
}

// miss records that versions may be missing.
func (r *Recorder) miss(resource schema.GroupVersionResource, why string) {
	gap := Gap{At: time.Now(), Resource: resource, Why: why}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gaps = append(r.gaps, gap)
	for k, l := range r.runs {
		if k.namespace == l.subject.Namespace { // once for each run
			l.gaps = append(l.gaps, gap)
		}
	}
}
