package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Recorder keeps every version of every object that it watches.
type Recorder struct {
	running sync.WaitGroup

	mu   sync.Mutex
	runs map[string]*Run // by subject
	err  error           // why versions may be missing; nil: none is
}

// Record watches resources in all namespaces, from now until ctx ends.
func Record(ctx context.Context, config *rest.Config, resources ...schema.GroupVersionResource) (*Recorder, error) {
	own := rest.CopyConfig(config)
	own.QPS, own.RateLimiter = -1, nil
	client, err := dynamic.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make a client for the history: %w", err)
	}
	r := newRecorder()
	for _, resource := range resources {
		objects := client.Resource(resource)
		list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
		watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return objects.Watch(ctx, options)
			}})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", resource.Resource, err)
		}
		r.running.Go(func() { r.follow(resource, watcher) })
	}
	return r, nil
}

func newRecorder() *Recorder { return &Recorder{runs: map[string]*Run{}} }

// Wait returns when nothing runs any longer, after the end of the context.
func (r *Recorder) Wait() { r.running.Wait() }

// Err returns why versions may be missing; nil if none is.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// follow adds the events of a watch, which resumes by itself unless the API server no longer has the versions that it needs.
func (r *Recorder) follow(resource schema.GroupVersionResource, watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		u, isObject := event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Error || !isObject {
			r.mu.Lock()
			r.err = errors.Join(r.err, fmt.Errorf("watch %s: %w", resource.Resource, apierrors.FromObject(event.Object)))
			r.mu.Unlock()
			continue
		}
		u.SetManagedFields(nil) // most of an object, and no oracle looks at it
		v := Version{At: time.Now(), Type: event.Type, Resource: resource, Object: u}
		r.mu.Lock()
		if run := r.runs[subjectOf(v)]; run != nil {
			run.add(v)
		}
		r.mu.Unlock()
	}
}

// subjectOf returns the name of the subject that a version concerns: that of its object up to the first hyphen, or for an event that
// of the involved object.
func subjectOf(v Version) string {
	name := v.Object.GetName()
	if v.Resource.Resource == "events" {
		name, _, _ = unstructured.NestedString(v.Object.Object, "involvedObject", "name")
	}
	subject, _, _ := strings.Cut(name, "-")
	return subject
}

// RunOf begins the run of a subject, before any object of it exists.
func (r *Recorder) RunOf(s Subject) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[s.Name] = newRun(r, s)
	return r.runs[s.Name]
}

// Forget ends the run of a subject. A run that a caller still holds keeps its versions.
func (r *Recorder) Forget(s Subject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, s.Name)
}
