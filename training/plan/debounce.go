package plan

import (
	"time"

	"stoic/training"
)

const (
	// minDebounce is the minimum time between two writes of a status if the only change is that more replicas run or have
	// succeeded. A thousand replicas that start then cost a few writes instead of a thousand, and those of a short job cost
	// none, because the status at its end includes them.
	minDebounce = 10 * time.Second
	// maxDebounce is the upper bound of this time for jobs whose replicas start slowly: see debounceAfter.
	maxDebounce = 15 * time.Second
	// settleFor is how long such a change waits for more of its kind, however old the status is: replicas that start
	// together end together, and the terminal condition follows the last of them.
	settleFor = time.Second
	// failureDebounce is the minimum time between two writes if replicas failed or vanished. A failure is written
	// within a second, and a node failure that affects a hundred replicas costs two writes.
	failureDebounce = 500 * time.Millisecond
)

// statusDebounce returns how long a new status can wait; 0: it must be written now.
//
//	change                                       waits
//	a condition, a time, a generation            no
//	more replicas are active or have succeeded   until the last status is debounceAfter old, and the change is known since settleFor
//	what the job waits for (see waits)           the same
//	other counts of an object being deleted      the same: its pods may be deleted one by one
//	a replica failed, or fewer are accounted for until the last status is failureDebounce old
//
// After a crash, the first reconcile of the next process writes a waiting status, because its WrittenAt is zero.
func (d *draft) statusDebounce() time.Duration {
	since, pending := d.Now.Sub(d.WrittenAt), time.Duration(0)
	if !d.PendingSince.IsZero() {
		pending = d.Now.Sub(d.PendingSince)
	}
	if d.WrittenAt.IsZero() || since < 0 || pending < 0 || d.Head.Status.Unclean {
		return 0
	}
	was, is := d.Head.Status.ReplicaStatuses, d.status.ReplicaStatuses
	switch {
	case !d.onlyCounts() || !sameReplicaTypes(was, is):
		return 0
	case onlyMore(was, is), d.isBeingDeleted():
		return max(debounceAfter(d.Head)-since, settleFor-pending, 0)
	}
	return max(failureDebounce-since, 0)
}

// statusWaits returns how long the current status of the draft still waits; 0: it is written now, or there is nothing to
// write.
func (d *draft) statusWaits() time.Duration {
	before := d.status.ObservedGeneration
	defer func() { d.status.ObservedGeneration = before }()
	if d.status.ObservedGeneration = d.Head.Meta.Generation; !d.statusDiffers() {
		return 0
	}
	return d.statusDebounce()
}

// onlyCounts reports whether the new status differs from the stored one at most in the counts of replicas, and in the note that says
// what the job waits for.
func (d *draft) onlyCounts() bool {
	counts := d.status
	counts.ReplicaStatuses = d.Head.Status.ReplicaStatuses
	if onlyNotes(d.Head.Status.Conditions, counts.Conditions) {
		counts.Conditions = d.Head.Status.Conditions
	}
	return same(&d.Head.Status, &counts, d.worthGeneration())
}

// debounceAfter returns the time that the first replica of a job took to run, from minDebounce to maxDebounce: the others start
// as slowly while images are pulled, nodes are added or the cluster is overloaded.
//
//	the job                  the time is measured from
//	was restarted            unknown: minDebounce
//	was suspended            its start time: before that it was not meant to run
//	else                     its creation, as the operator may have been overloaded, too
func debounceAfter(h *training.Head) time.Duration {
	s := &h.Status
	running := s.Condition(training.Running)
	if running == nil || s.StartTime == nil || s.Condition(training.Restarting) != nil {
		return minDebounce
	}
	began := s.StartTime.Time
	if created := h.Meta.CreationTimestamp.Time; !created.IsZero() && created.Before(began) && s.Condition(training.Suspended) == nil {
		began = created
	}
	return min(max(running.LastTransitionTime.Sub(began), minDebounce), maxDebounce)
}

// sameReplicaTypes reports whether two statuses have the same replica types and selectors.
func sameReplicaTypes(old, found map[string]training.ReplicaStatus) bool {
	if len(old) != len(found) {
		return false
	}
	for rtype, now := range found {
		if was, known := old[rtype]; !known || was.Selector != now.Selector {
			return false
		}
	}
	return true
}

// onlyMore reports whether the only change of the counts is that more replicas run or have succeeded.
func onlyMore(old, found map[string]training.ReplicaStatus) bool {
	for rtype, now := range found {
		was := old[rtype]
		if was.Failed != now.Failed || was.Succeeded > now.Succeeded ||
			int64(was.Active)+int64(was.Succeeded) > int64(now.Active)+int64(now.Succeeded) {
			return false
		}
	}
	return true
}
