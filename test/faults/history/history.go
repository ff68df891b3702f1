package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Version is one state of one object, as a watch reported it. The object is read-only.
type Version struct {
	At       time.Time // when it was reported, by this machine's clock
	Type     watch.EventType
	Resource schema.GroupVersionResource
	Object   *unstructured.Unstructured
}

// Subject is the object whose run is recorded. Its name has no hyphen, and is used once. Its dependents have the same name, or one that
// begins with it and a hyphen.
type Subject struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	// Also is another namespace in which dependents may be, or "".
	Also string
}

// Run is what happened to one subject and its dependents, and the events about them. It ends when it is forgotten.
type Run struct {
	recorder *Recorder
	subject  Subject

	// Guarded by the recorder's lock.
	versions []Version // in the order in which they were reported
	now      map[place]*unstructured.Unstructured
	made     map[place][]types.UID // of a generated name: all objects with that prefix
	latest   map[types.UID]uint64  // revision
	changed  chan struct{}         // closed when a version is added
}

// place is the location of an object.
type place struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func newRun(r *Recorder, s Subject) *Run {
	return &Run{recorder: r, subject: s, now: map[place]*unstructured.Unstructured{},
		made: map[place][]types.UID{}, latest: map[types.UID]uint64{}, changed: make(chan struct{})}
}

// Of makes a run of known versions. They count as reported in that order.
func Of(s Subject, versions ...Version) *Run {
	l := newRun(&Recorder{}, s)
	for _, v := range versions {
		l.add(v)
	}
	return l
}

// add adds a version. The caller holds the lock.
func (l *Run) add(v Version) {
	at := place{v.Resource, v.Object.GetNamespace(), v.Object.GetName()}
	named := place{v.Resource, v.Object.GetNamespace(), NameOf(v.Object)}
	if uid := v.Object.GetUID(); !slices.Contains(l.made[named], uid) {
		l.made[named] = append(l.made[named], uid)
	}
	if v.Type != watch.Deleted {
		l.now[at] = v.Object
	} else if now := l.now[at]; now != nil && now.GetUID() == v.Object.GetUID() {
		delete(l.now, at)
	}
	l.latest[v.Object.GetUID()] = max(l.latest[v.Object.GetUID()], Revision(v.Object))
	l.versions = append(l.versions, v)
	close(l.changed)
	l.changed = make(chan struct{})
}

// Subject returns the subject of the run.
func (l *Run) Subject() Subject { return l.subject }

// ResourceOf returns the resource of the object with that UID; the zero value if the run never had one.
func (l *Run) ResourceOf(uid types.UID) schema.GroupVersionResource {
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	for at, uids := range l.made {
		if slices.Contains(uids, uid) {
			return at.resource
		}
	}
	return schema.GroupVersionResource{}
}

// Versions returns all versions in the order of their resourceVersions.
func (l *Run) Versions() []Version {
	l.recorder.mu.Lock()
	all := slices.Clone(l.versions)
	l.recorder.mu.Unlock()
	slices.SortStableFunc(all, func(a, b Version) int { return cmp.Compare(Revision(a.Object), Revision(b.Object)) })
	return all
}

// Revision returns the resourceVersion as a number.
func Revision(u *unstructured.Unstructured) uint64 {
	n, _ := strconv.ParseUint(u.GetResourceVersion(), 10, 64) // 0 if it is not a number: it sorts first
	return n
}

// View returns what exists now, as far as it was reported.
func (l *Run) View() View {
	view, _ := l.look()
	return view
}

func (l *Run) look() (View, <-chan struct{}) {
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	v := View{Subject: l.subject, Incarnations: map[types.UID]int{}}
	for at, object := range l.now {
		switch {
		case at.resource == l.subject.Resource:
			v.Job = object
		case at.resource.Resource == "pods":
			v.Pods = append(v.Pods, object)
		case at.resource.Resource == "services":
			v.Services = append(v.Services, object)
		case at.resource.Resource == "events":
			v.Events = append(v.Events, object)
		default:
			v.Dependents = append(v.Dependents, object)
		}
	}
	for _, list := range [][]*unstructured.Unstructured{v.Pods, v.Services, v.Dependents, v.Events} {
		slices.SortFunc(list, func(a, b *unstructured.Unstructured) int {
			return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()))
		})
	}
	for _, uids := range l.made {
		for i, uid := range uids {
			v.Incarnations[uid] = i + 1
		}
	}
	return v, l.changed
}

// Await waits until the view meets a condition. Versions wake it; it does not poll. If ctx ends first, the error says what was seen last.
func (l *Run) Await(ctx context.Context, what string, holds func(View) (ok bool, saw string)) error {
	for {
		view, changed := l.look()
		ok, saw := holds(view)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s %s/%s: wait for %s: %w; last seen: %s", l.subject.Resource.Resource, l.subject.Namespace, l.subject.Name, what, context.Cause(ctx), saw)
		}
	}
}

// AwaitReported waits until this version of an object, or a later one, was reported. A caller that wrote the object and decides
// by what is reported must not see the state before its write.
func (l *Run) AwaitReported(ctx context.Context, u *unstructured.Unstructured) error {
	return l.Await(ctx, u.GetKind()+" "+u.GetName()+" as it was written", func(View) (bool, string) {
		l.recorder.mu.Lock()
		defer l.recorder.mu.Unlock()
		seen := l.latest[u.GetUID()]
		return seen >= Revision(u), fmt.Sprintf("resourceVersion %d of %d", seen, Revision(u))
	})
}

// Quiet waits until nothing was reported of the run for a while.
func (l *Run) Quiet(ctx context.Context, while time.Duration) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	for {
		_, changed := l.look()
		timer.Reset(while)
		select {
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%s %s/%s: wait for %v without a change: %w", l.subject.Resource.Resource, l.subject.Namespace, l.subject.Name, while, context.Cause(ctx))
		}
	}
}
