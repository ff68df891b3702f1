package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	// since is when the caches were first found to be below.
	since time.Time
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
	have := f.jobs[owner]
	if have == nil {
		have = &floor{}
		f.jobs[owner] = have
	}
	have.job, have.pods, have.services = newer(have.job, job), newer(have.pods, pods), newer(have.services, services)
}

// check says whether a pass may trust caches that stand at these versions. The stores are read under the lock,
// so that an event which arrives in between is either seen here or sees that the pass waits.
func (f *floors) check(owner types.UID, job, pods, services func() string) freshness {
	f.mu.Lock()
	defer f.mu.Unlock()
	have := f.jobs[owner]
	if have == nil {
		return freshEnough
	}
	if reached(job(), have.job) && reached(pods(), have.pods) && reached(services(), have.services) {
		// The job's own version stays: it tells our own status event from a stranger's.
		*have = floor{job: have.job}
		return freshEnough
	}
	if have.since.IsZero() {
		have.since = f.now()
	}
	if f.now().Sub(have.since) >= patience {
		return readLive
	}
	have.waiting = true
	return tooOld
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

// clear drops everything.
func (f *floors) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.jobs)
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
