package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Version is one state of one object, as a watch told it. Nobody writes to the object.
type Version struct {
	At       time.Time // when it was told, by this machine's clock
	Type     watch.EventType
	Resource schema.GroupVersionResource
	Object   *unstructured.Unstructured
}

// Gap is a time for which versions may be missing.
type Gap struct {
	At       time.Time
	Resource schema.GroupVersionResource
	Why      string
}

// Subject is the object whose run is recorded, and where its dependents are. A dependent has the name of the object, or
// one that begins with it and a hyphen, and is of another resource.
type Subject struct {
	Resource  schema.GroupVersionResource
	Namespace string // "" of a cluster-scoped object
	Name      string
	// Also are the other namespaces in which dependents, or events, may be. Events about cluster-scoped objects are in
	// the namespace default.
	Also []string
	// Of are the resources whose objects belong to the run; nil: all that are watched. What else is watched is for the runs of others,
	// and must change nothing here.
	Of []schema.GroupVersionResource
}

// namespaces of all objects of the run.
func (s Subject) namespaces() []string { return append([]string{s.Namespace}, s.Also...) }

// takes says whether a version is one of the subject's run, if its namespace is.
func (s Subject) takes(v Version) bool {
	if s.Of != nil && !slices.Contains(s.Of, v.Resource) {
		return false
	}
	name := about(v)
	if name == s.Name {
		return true
	}
	return v.Resource != s.Resource && strings.HasPrefix(name, s.Name+"-")
}

// Run is what happened to one subject and its dependents, and the events about them. It ends when it is forgotten. Two
// subjects whose names differ by a hyphen and more must not be in one namespace.
type Run struct {
	recorder *Recorder
	subject  Subject

	// Guarded by the recorder's lock.
	versions []Version // in the order in which they were told
	now      map[place]*unstructured.Unstructured
	made     map[place][]types.UID
	latest   map[types.UID]uint64 // revision
	gaps     []Gap
	changed  chan struct{} // closed when a version comes
}

// place is where an object is found.
type place struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func newRun(r *Recorder, s Subject) *Run {
	return &Run{recorder: r, subject: s, now: map[place]*unstructured.Unstructured{},
		made: map[place][]types.UID{}, latest: map[types.UID]uint64{}, changed: make(chan struct{})}
}

// Of makes a run of versions that are known already. They are taken as told in that order.
func Of(s Subject, versions ...Version) *Run {
	l := newRun(&Recorder{}, s)
	for _, v := range versions {
		l.add(v)
	}
	return l
}

// add a version. The caller holds the lock.
func (l *Run) add(v Version) {
	at := place{v.Resource, v.Object.GetNamespace(), v.Object.GetName()}
	if uid := v.Object.GetUID(); !slices.Contains(l.made[at], uid) {
		l.made[at] = append(l.made[at], uid)
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

// Subject is whose run it is.
func (l *Run) Subject() Subject { return l.subject }

// ResourceOf an object of the run, by its UID; the zero value of one that was never seen.
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

// Versions lists all in the order of their resourceVersions.
func (l *Run) Versions() []Version {
	l.recorder.mu.Lock()
	all := slices.Clone(l.versions)
	l.recorder.mu.Unlock()
	slices.SortStableFunc(all, func(a, b Version) int { return cmp.Compare(Revision(a.Object), Revision(b.Object)) })
	return all
}

// Revision is the resourceVersion as the number that it is.
func Revision(u *unstructured.Unstructured) uint64 {
	n, _ := strconv.ParseUint(u.GetResourceVersion(), 10, 64) // what is no number comes first
	return n
}

// Gaps lists when versions may have been missed.
func (l *Run) Gaps() []Gap {
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	return slices.Clone(l.gaps)
}

// Created counts by name how many objects of a resource ("pods") ever came to be.
func (l *Run) Created(resource string) map[string]int {
	return l.count(resource, func(Version) bool { return true })
}

// Deleted counts by name how many went.
func (l *Run) Deleted(resource string) map[string]int {
	return l.count(resource, func(v Version) bool { return v.Type == watch.Deleted })
}

func (l *Run) count(resource string, counts func(Version) bool) map[string]int {
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	found, seen := map[string]int{}, map[types.UID]bool{}
	for _, v := range l.versions {
		if uid := v.Object.GetUID(); v.Resource.Resource == resource && !seen[uid] && counts(v) {
			seen[uid] = true
			found[v.Object.GetName()]++
		}
	}
	return found
}

// Resources lists what the run's objects are, events left out: "pods", "tfjobs".
func (l *Run) Resources() []string {
	l.recorder.mu.Lock()
	defer l.recorder.mu.Unlock()
	var found []string
	for at := range l.made {
		if r := at.resource.Resource; r != "events" && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	slices.Sort(found)
	return found
}

// View is what exists now, as far as it was told.
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

// Await waits until what exists is as it shall be. It is woken by versions and polls nothing. If ctx ends before, the
// error says what was seen last.
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

// AwaitReported waits until an object was told of as it is here, or as it was later. Who has written it and goes on by what is
// seen must not see what was before.
func (l *Run) AwaitReported(ctx context.Context, u *unstructured.Unstructured) error {
	return l.Await(ctx, u.GetKind()+" "+u.GetName()+" as it was written", func(View) (bool, string) {
		l.recorder.mu.Lock()
		defer l.recorder.mu.Unlock()
		seen := l.latest[u.GetUID()]
		return seen >= Revision(u), fmt.Sprintf("resourceVersion %d of %d", seen, Revision(u))
	})
}

// Quiet waits until nothing has been told of the job for a while.
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

// about is the name by which a version belongs to a run: its own, or that of the object which an event is about.
func about(v Version) string {
	if v.Resource.Resource == "events" {
		name, _, _ := unstructured.NestedString(v.Object.Object, "involvedObject", "name")
		return name
	}
	return v.Object.GetName()
}

// candidates are the names of the subjects that a version may be of: of a pod "a-b-0" a-b-0, a-b and a.
func candidates(v Version) []string {
	name := about(v)
	found := []string{name}
	for {
		cut := strings.LastIndexByte(name, '-')
		if cut < 0 {
			return found
		}
		name = name[:cut]
		found = append(found, name)
	}
}
