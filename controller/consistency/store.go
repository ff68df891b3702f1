package consistency

import (
	"iter"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Store remembers, by the UID of an object, the newest resourceVersions that our own writes returned: of the object itself and of its
// children, by the index of their resource in the watch. All of it may be lost at any time: it is only what the API server has reported.
//
//	cache at or above the required version    decide; that version is no longer required
//	cache without a version                   decide: the resource may be absent, or be listed again; the version stays required
//	below, for less than Patience             wait for the event
//	below, for longer                         read from the API server instead (a lost event, or an etcd restored to
//	                                          an older revision: then the version would never be reached)
//	below what a patch follows                the same, with FollowedPatience
type Store struct {
	mu      sync.Mutex
	objects map[types.UID]*entry
	now     func() time.Time
}

type entry struct {
	object   string   // version that the cache of the objects must have reached
	children []string // the same of the caches of the children; nil is none
	// echo is the version that our own last write, or our own read, returned: a reconcile knows it already. It is not
	// always the required one, which may be another writer's.
	echo string
	// tombstones are children that no longer exist, according to the API server. There is no version to wait for: an immediate deletion
	// returns none. A cache that still shows one of them is behind.
	tombstones map[types.UID]bool
	// gone: the object itself no longer exists, according to the API server's answer to our own write.
	gone bool
	// behindSince is when the caches were first found to be behind.
	behindSince time.Time
	verified    bool
	live        bool // what is decided was read from the API server: see IsLive
	// had is how many children the object had when it was last verified, and those created since; see ChildrenMissing.
	had          int
	writtenAt    time.Time
	pendingSince time.Time
	// waiting: a reconcile was put off; the next event of the object itself must queue it even if the event is our own.
	waiting bool
}

// Patience is how long a reconcile waits for its caches, FollowedPatience how long for those that a patch follows.
const (
	Patience         = 10 * time.Second
	FollowedPatience = time.Second
)

// Freshness is what a reconcile may do with its caches.
type Freshness int

const (
	Fresh    Freshness = iota // decide on them
	Behind                    // wait for their events
	ReadLive                  // read from the API server instead
)

// NewStore makes an empty store; now is the clock.
func NewStore(now func() time.Time) *Store {
	return &Store{objects: map[types.UID]*entry{}, now: now}
}

// of returns the entry of an object, and creates it if it is missing. The caller holds the lock.
func (s *Store) of(uid types.UID) *entry {
	e := s.objects[uid]
	if e == nil {
		e = &entry{}
		s.objects[uid] = e
	}
	return e
}

func (e *entry) require(child int, version string) {
	if missing := child + 1 - len(e.children); missing > 0 {
		e.children = append(e.children, make([]string, missing)...)
	}
	e.children[child] = Newer(e.children[child], version)
}

// WroteObject notes the version that a write of the object itself returned; an empty version is ignored.
func (s *Store) WroteObject(uid types.UID, version string) {
	if version == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	e.writtenAt = s.now()
	e.echo = version
	e.object = Newer(e.object, version)
}

// RequireChildVersion notes a version that a cache of children must have reached, such as one that a write of a child returned. An empty
// version is ignored.
func (s *Store) RequireChildVersion(uid types.UID, child int, version string) {
	if version == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).require(child, version)
}

// RequireFollowed notes the version of an object; the cache of other children must have reached it before that object is patched
// (schema.Patch.Follows). If none of these children has changed, no event brings their cache that far, so reconciles wait for
// FollowedPatience only.
func (s *Store) RequireFollowed(uid types.UID, child int, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	e.require(child, version)
	if e.behindSince.IsZero() {
		e.behindSince = s.now().Add(FollowedPatience - Patience)
	}
}

// IsLive reports whether what is decided now about an object was read from the API server: its caches have not been found fresh since
// ReadFromServer.
func (s *Store) IsLive(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	return e != nil && e.live
}

// RequireObjectVersion makes reconciles wait for the version at which the API server has an object. Another client wrote it, so its event
// is no echo.
func (s *Store) RequireObjectVersion(uid types.UID, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	e.object = Newer(e.object, version)
}

// RequireLiveRead makes the next reconcile read from the API server, unless the caches of these children have reached a
// version by then.
func (s *Store) RequireLiveRead(uid types.UID, version string, children []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	for _, child := range children {
		e.require(child, version)
	}
	e.behindSince = s.now().Add(-Patience)
}

// ReadFromServer replaces what is known of an object by what was read from the API server: caches that show less are behind. After an
// etcd restore these versions are lower than those known before, so that caches can reach them.
func (s *Store) ReadFromServer(uid types.UID, version string, children []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[uid] = &entry{object: version, echo: version, children: children, verified: true, live: true}
}

// Verified reports whether this process has once confirmed that its caches do not show a past state of an object and its children.
func (s *Store) Verified(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	return e != nil && e.verified
}

// SetVerified notes that an object is verified.
func (s *Store) SetVerified(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).verified = true
}

// ChildrenMissing reports whether fewer children are seen of an object than it has had. The object itself may be gone without the cache
// knowing it, so that its children are garbage. Then whatever is created in their place is garbage, too, and so on. It compares what a
// reconcile sees and does not count events: a store shows that an object is gone before its handlers run.
func (s *Store) ChildrenMissing(uid types.UID, seen int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	if e == nil {
		return false
	}
	e.had = max(e.had, seen)
	return seen < e.had
}

// SawChildren notes how many children an object had when it was verified.
func (s *Store) SawChildren(uid types.UID, children int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.objects[uid]; e != nil {
		e.had = children
	}
}

// CreatedChild notes that an object has one more child.
func (s *Store) CreatedChild(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).had++
}

// Tombstone notes that a child no longer exists.
func (s *Store) Tombstone(uid, child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	if e.tombstones == nil {
		e.tombstones = map[types.UID]bool{}
	}
	e.tombstones[child] = true
}

// Gone notes that the object itself no longer exists: our own write removed its last finalizer while it was being deleted. The API server
// answers such a write with the object as it was before, so there is no version to wait for. A cache that still shows the object is
// behind.
func (s *Store) Gone(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).gone = true
}

// Written returns when this process last wrote an object, and since when there is a change that its status does not report; or zero
// times.
func (s *Store) Written(uid types.UID) (at, pendingSince time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.objects[uid]; e != nil {
		return e.writtenAt, e.pendingSince
	}
	return time.Time{}, time.Time{}
}

// SetPending notes whether there is a change that the status does not report yet.
func (s *Store) SetPending(uid types.UID, pending bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	switch {
	case e == nil: // it was never written: nothing waits
	case !pending:
		e.pendingSince = time.Time{}
	case e.pendingSince.IsZero():
		e.pendingSince = s.now()
	}
}

// Check returns whether a reconcile may decide on the caches. The functions return the versions of the caches. They are called under the
// lock, so that an event that arrives in between is either seen here or sees that the reconcile waits. A nil child has no cache that
// could be behind.
func (s *Store) Check(uid types.UID, object func() string, children []func() string) Freshness {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	if e == nil {
		return Fresh
	}
	behind, left := e.childBehind(children)
	if e.gone || behind || !Reached(object(), e.object) {
		return e.wait(s.now())
	}
	e.children, e.waiting, e.live = left, false, false
	if len(e.tombstones) == 0 { // else the second half of the question is still to come
		e.behindSince = time.Time{}
	}
	return Fresh
}

// childBehind reports whether a cache of children is below the required version, and what is still required if none is. A cache without a
// version is not waited for, as its resource may be absent. It may also be listing its objects again after its watch has expired, and the
// list may be older than our own write: so its required version is kept.
func (e *entry) childBehind(children []func() string) (behind bool, left []string) {
	for i, required := range e.children {
		if required == "" || i >= len(children) || children[i] == nil {
			continue
		}
		switch at := children[i](); {
		case at == "":
			if left == nil {
				left = make([]string, len(e.children))
			}
			left[i] = required
		case !Reached(at, required):
			return true, nil
		}
	}
	return false, left
}

// CheckChildren returns whether a reconcile may decide on the children that the caches show: none of them is known to be gone. Call it
// after Check has found the caches fresh.
func (s *Store) CheckChildren(uid types.UID, children iter.Seq[types.UID]) Freshness {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	if e == nil || len(e.tombstones) == 0 {
		return Fresh
	}
	for child := range children {
		if e.tombstones[child] {
			return e.wait(s.now())
		}
	}
	e.tombstones, e.behindSince = nil, time.Time{}
	return Fresh
}

// wait returns Behind, or ReadLive after the caches have been behind for Patience.
func (e *entry) wait(now time.Time) Freshness {
	if e.behindSince.IsZero() {
		e.behindSince = now
	}
	if now.Sub(e.behindSince) >= Patience {
		return ReadLive
	}
	e.waiting = true
	return Behind
}

// IsOwnEcho reports whether an update of an object is the event of our own write, which needs no reconcile.
func (s *Store) IsOwnEcho(uid types.UID, version string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	if e == nil || e.echo != version || version == "" {
		return false
	}
	waited := e.waiting
	e.waiting = false
	return !waited
}

// Forget drops what is known of an object: it is gone, or was read from the API server.
func (s *Store) Forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, uid)
}

// ForgetAll drops what is known of the objects that gone selects.
func (s *Store) ForgetAll(gone func(types.UID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.objects, func(uid types.UID, _ *entry) bool { return gone(uid) })
}

// Len returns the number of objects of which something is known.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}
