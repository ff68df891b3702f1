package controller

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"stoic/schema"
)

// floors remember, for each job, the newest resourceVersions that our own writes returned. A pass whose caches
// are older would decide on a world that no longer is (and create what exists), so it waits; the event that
// brings the caches up wakes it. This takes the place of expectations.
//
//	cache at or above the floor    decide
//	below, for less than patience  wait for the event
//	below, for longer              read from the API server instead (a lost event, or an etcd restored to
//	                               an older revision: then the floor would never be reached)
type floors struct {
	mu   sync.Mutex
	jobs map[types.UID]*floor
	now  func() time.Time
}

type floor struct {
	job, pods, services string
	extras              map[schema.Resource]string
	// deleted are objects that are gone, as the API server has said. There is no version to wait for: it tells none of what
	// goes at once. A cache that still shows one of them is behind.
	deleted map[types.UID]bool
	// since is when the caches were first found to be below.
	since time.Time
	// trusted: see there.
	trusted bool
	// had is how many children the job had when it was last looked at, and those made since: see lost.
	had int
	// recorded is when the job itself was last written.
	recorded time.Time
	// pending is since when there is news that its status does not tell yet.
	pending time.Time
	// waiting: a pass was put off, and the next event of the job itself must wake it although it is our own.
	waiting bool
}

// patience is how long a pass waits for its caches.
const patience = 10 * time.Second

type freshness int

const (
	freshEnough freshness = iota
	tooOld
	readLive
)

func newFloors(now func() time.Time) *floors {
	return &floors{jobs: map[types.UID]*floor{}, now: now}
}

// raise notes what our own writes returned; empty versions are ignored.
func (f *floors) raise(owner types.UID, job, pods, services string) {
	if job == "" && pods == "" && services == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.of(owner)
	if job != "" {
		have.recorded = f.now()
	}
	have.job, have.pods, have.services = newer(have.job, job), newer(have.pods, pods), newer(have.services, services)
}

// trusted: this process has seen, once, that what its caches show of a job and its children is not a past.
func (f *floors) trusted(owner types.UID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	return have != nil && have.trusted
}

// trust notes so.
func (f *floors) trust(owner types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(owner).trusted = true
}

// lost says whether fewer children are seen of a job than it has had. If that is because the job itself is gone, and they are
// garbage, and the cache does not know it yet, whatever takes their place is made for nobody, is garbage too, and so on. It is
// asked of what a pass sees, not told by events: a store shows that something is gone before anyone is told.
func (f *floors) lost(owner types.UID, seen int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	if have == nil {
		return false
	}
	have.had = max(have.had, seen)
	return seen < have.had
}

// has notes that a job was as it was seen when it had so many children.
func (f *floors) has(owner types.UID, children int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if have := f.jobs[owner]; have != nil {
		have.had = children
	}
}

// gained notes that a child was made.
func (f *floors) gained(owner types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(owner).had++
}

// await lets passes wait until the cache has come to the version at which the API server has a job.
func (f *floors) await(owner types.UID, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.of(owner)
	have.job = newer(have.job, version)
}

// live replaces what is known of an owner by what was read from the API server: caches that show less are behind. After an
// etcd was restored these versions are lower than those that were known, and are reached.
func (f *floors) live(owner types.UID, job, pods, services string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.jobs[owner] = &floor{job: job, pods: pods, services: services, trusted: true}
}

// distrust lets the next pass read from the API server, unless the caches of the children have come to a version by then.
func (f *floors) distrust(owner types.UID, version string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.of(owner)
	have.pods, have.services = newer(have.pods, version), newer(have.services, version)
	have.since = f.now().Add(-patience)
}

// raiseExtra does so for an extra object.
func (f *floors) raiseExtra(owner types.UID, r schema.Resource, version string) {
	if version == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.of(owner)
	if have.extras == nil {
		have.extras = map[schema.Resource]string{}
	}
	have.extras[r] = newer(have.extras[r], version)
}

// of an owner; the caller holds the lock.
func (f *floors) of(owner types.UID) *floor {
	have := f.jobs[owner]
	if have == nil {
		have = &floor{}
		f.jobs[owner] = have
	}
	return have
}

// recorded is when a job itself was last written, and since when there is news that its status does not tell; or zero.
func (f *floors) recorded(owner types.UID) (at, pending time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if have := f.jobs[owner]; have != nil {
		return have.recorded, have.pending
	}
	return time.Time{}, time.Time{}
}

// pend notes whether there is news of a job that its status does not tell yet.
func (f *floors) pend(owner types.UID, news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	switch {
	case have == nil: // it was never written to: nothing waits
	case !news:
		have.pending = time.Time{}
	case have.pending.IsZero():
		have.pending = f.now()
	}
}

// check says whether a pass may trust caches that stand at these versions. The stores are read under the lock,
// so that an event which arrives in between is either seen here or sees that the pass waits.
func (f *floors) check(owner types.UID, job, pods, services func() string, extras ...*extraWatch) freshness {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	if have == nil {
		return freshEnough
	}
	behind := slices.ContainsFunc(extras, func(e *extraWatch) bool { return !reached(e.version(), have.extras[e.resource]) })
	if !behind && reached(job(), have.job) && reached(pods(), have.pods) && reached(services(), have.services) {
		// The job's own version stays: it tells our own status event from a stranger's.
		is := floor{job: have.job, recorded: have.recorded, pending: have.pending, trusted: have.trusted, had: have.had, deleted: have.deleted}
		if len(have.deleted) > 0 {
			is.since = have.since // the second half of the question is still to come
		}
		*have = is
		return freshEnough
	}
	return have.wait(f.now())
}

// shows says whether a pass may trust what the caches show of an owner's children: see floor.deleted. It is asked when check
// has found nothing.
func (f *floors) shows(owner types.UID, children iter.Seq[types.UID]) freshness {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	if have == nil || len(have.deleted) == 0 {
		return freshEnough
	}
	for uid := range children {
		if have.deleted[uid] {
			return have.wait(f.now())
		}
	}
	have.deleted, have.since = nil, time.Time{}
	return freshEnough
}

// wait for the caches, but not for ever.
func (f *floor) wait(now time.Time) freshness {
	if f.since.IsZero() {
		f.since = now
	}
	if now.Sub(f.since) >= patience {
		return readLive
	}
	f.waiting = true
	return tooOld
}

// bury notes that a child is gone.
func (f *floors) bury(owner, child types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.of(owner)
	if have.deleted == nil {
		have.deleted = map[types.UID]bool{}
	}
	have.deleted[child] = true
}

// own says whether an update of a job is the echo of our own status write, which calls for no pass.
func (f *floors) own(owner types.UID, version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	if have == nil || have.job != version || version == "" {
		return false
	}
	waited := have.waiting
	have.waiting = false
	return !waited
}

// forget drops what is known of an owner: it is gone, or was read live.
func (f *floors) forget(owner types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.jobs, owner)
}

// forgetAll drops what is known of some owners.
func (f *floors) forgetAll(gone func(types.UID) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.jobs, func(uid types.UID, _ *floor) bool { return gone(uid) })
}

// newer is the later of two versions. Versions that cannot be compared bound nothing.
func newer(a, b string) string {
	if a == "" {
		return b
	}
	if c, err := resourceversion.CompareResourceVersion(a, b); err == nil && c < 0 {
		return b
	}
	return a
}

// reached: the store has seen the floor. A store that tells no version is trusted.
func reached(store, floor string) bool {
	if floor == "" || store == "" {
		return true
	}
	c, err := resourceversion.CompareResourceVersion(store, floor)
	return err != nil || c >= 0
}
