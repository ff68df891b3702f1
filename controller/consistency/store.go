package consistency

import (
	"iter"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Store remembers, by the UID of an object, the newest resourceVersions that our own writes returned: of the object
// itself and of its children, by the index of their resource in the watch. All of it may be lost at any time: it
// is only what the API server has said.
//
//	cache at or above the required version    decide
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
	// tombstones are children that are gone, as the API server has said. There is no version to wait for: it reports none
	// of what goes at once. A cache that still shows one of them is behind.
	tombstones map[types.UID]bool
	// gone: the object itself is, as the API server has said by its answer to our own write.
	gone bool
	// behindSince is when the caches were first found to be below.
	behindSince time.Time
	verified    bool
	live        bool // what is decided was read from the API server: see IsLive
	// had is how many children the object had when it was last verified, and those created since; see ChildrenMissing.
	had          int
	writtenAt    time.Time
	pendingSince time.Time
	// waiting: a reconcile was put off, or must follow, and the next event of the object itself must queue it although it is our own.
	waiting bool
	// followed is when a reconcile was last made to follow a write of the whole object.
	followed time.Time
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

// of an object; the caller holds the lock.
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
func (s *Store) WroteObject(uid types.UID, version string) { s.wrote(uid, version, false) }

// WroteWholeObject does so for a write by which the spec may have changed, too, as an admission webhook may do. The object is decided
// on again when a cache shows it: the next event of the object queues it, even if that is of a later write of our own. That is so once in
// Patience: a decision whose status is another one each time would otherwise follow itself forever.
func (s *Store) WroteWholeObject(uid types.UID, version string) { s.wrote(uid, version, true) }

func (s *Store) wrote(uid types.UID, version string, whole bool) {
	if version == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, now := s.of(uid), s.now()
	e.writtenAt, e.echo, e.object = now, version, Newer(e.object, version)
	if whole && now.Sub(e.followed) >= Patience {
		e.waiting, e.followed = true, now
	}
}

// RequireChildVersion notes the version that a write of a child returned, or that the cache must have reached for another reason; an
// empty version is ignored.
func (s *Store) RequireChildVersion(uid types.UID, child int, version string) {
	if version == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).require(child, version)
}

// RequireFollowed notes the version of an object that the cache of other children must have reached before that object is patched
// (schema.Patch.Follows). Nothing of these children need have changed, so there may be no event that brings their cache so far: reconciles
// wait for FollowedPatience only.
func (s *Store) RequireFollowed(uid types.UID, child int, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	e.require(child, version)
	if e.behindSince.IsZero() {
		e.behindSince = s.now().Add(FollowedPatience - Patience)
	}
}

// IsLive says whether what is decided now about an object was read from the API server: since ReadFromServer its caches have not been
// found fresh.
func (s *Store) IsLive(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	return e != nil && e.live
}

// RequireObjectVersion makes reconciles wait for the version at which the API server has an object. Another writer made
// it, so its event is no echo.
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

// ReadFromServer replaces what is known of an object by what was read from the API server: caches that show less are
// behind. After an etcd was restored these versions are lower than those known before, and are reached.
func (s *Store) ReadFromServer(uid types.UID, version string, children []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[uid] = &entry{object: version, echo: version, children: children, verified: true, live: true}
}

// Verified says whether this process has seen, once, that what its caches show of an object and its children is not
// the past.
func (s *Store) Verified(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	return e != nil && e.verified
}

// SetVerified notes so.
func (s *Store) SetVerified(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).verified = true
}

// ChildrenMissing says whether fewer children are seen of an object than it has had. If that is because the object itself
// is gone, they are garbage, and the cache does not know it yet, then whatever is created in their place is garbage,
// too, and so on. It is asked of what a reconcile sees, not reported by events: a store shows that an object is gone
// before its handlers run.
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

// SawChildren notes that an object was verified when it had so many children.
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

// Tombstone notes that a child is gone.
func (s *Store) Tombstone(uid, child types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.of(uid)
	if e.tombstones == nil {
		e.tombstones = map[types.UID]bool{}
	}
	e.tombstones[child] = true
}

// Gone notes that the object itself is gone: our own write took its last finalizer away while it was being deleted. The API
// server answers such a write with the object as it was before, so there is no version to wait for. A cache that still
// shows the object is behind.
func (s *Store) Gone(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(uid).gone = true
}

// Written is when this process last wrote an object, and since when there is a change that its status does not report;
// or zero.
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

// Check says whether a reconcile may decide on the caches, which stand at these versions. They are read under the lock, so
// that an event which arrives in between is either seen here or sees that the reconcile waits. A nil child has no cache
// that could be behind.
func (s *Store) Check(uid types.UID, object func() string, children []func() string) Freshness {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.objects[uid]
	if e == nil {
		return Fresh
	}
	if e.gone || !Reached(object(), e.object) || e.childBehind(children) {
		return e.wait(s.now())
	}
	e.children, e.waiting, e.live = nil, false, false
	if len(e.tombstones) == 0 { // else the second half of the question is still to come
		e.behindSince = time.Time{}
	}
	return Fresh
}

func (e *entry) childBehind(children []func() string) bool {
	for i, required := range e.children {
		if required != "" && i < len(children) && children[i] != nil && !Reached(children[i](), required) {
			return true
		}
	}
	return false
}

// CheckChildren says whether a reconcile may decide on what the caches show of an object's children: none of them is
// known to be gone. It is asked when Check has found the caches fresh.
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

// wait for the caches, up to Patience.
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

// IsOwnEcho says whether an update of an object is the event of our own write, which calls for no reconcile.
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

// ForgetAll drops what is known of some objects.
func (s *Store) ForgetAll(gone func(types.UID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.objects, func(uid types.UID, _ *entry) bool { return gone(uid) })
}

// Len is how many objects something is known of.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects)
}
