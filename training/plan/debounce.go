package plan

import (
	"time"

	"stoic/training"
)

const (
	// minDebounce is how long a status that was just written stands before more replicas that run, or are done, are a reason
	// to write it again: a thousand replicas that start are then a few writes and not a thousand, and a short job's are
	// none, as its end says the same.
	minDebounce = 10 * time.Second
	// maxDebounce is how long it may stand where replicas are slow to start: see debounceAfter.
	maxDebounce = 15 * time.Second
	// settleFor is how long such a change waits for more of its kind, however old the status is: replicas that were started
	// together end together, and with the last of them comes the terminal condition.
	settleFor = time.Second
	// failureDebounce is how long a status that was just written stands before replicas that failed or vanished are. A failure is
	// on record within the second, and a node that takes a hundred replicas with it is two writes.
	failureDebounce = 500 * time.Millisecond
)

// statusDebounce is how long a new status can wait; 0 says that it must be written now.
//
//	what is new                                  waits
//	a condition, a time, a generation            no
//	a replica failed, or fewer are accounted for until the last status is failureDebounce old
//	more replicas are active or have succeeded   until the last status is debounceAfter old, and the change is known since settleFor
//
// What waits at a crash is written by the first reconcile of the next process: it knows of no last status.
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
	case onlyMore(was, is):
		return max(debounceAfter(d.Head)-since, settleFor-pending, 0)
	}
	return max(failureDebounce-since, 0)
}

// statusWaits is how long the status that the plan has by now is not written yet; 0 says that it is written, or that nothing is to be
// written.
func (d *draft) statusWaits() time.Duration {
	before := d.status.ObservedGeneration
	defer func() { d.status.ObservedGeneration = before }()
	if d.status.ObservedGeneration = d.Head.Meta.Generation; !d.statusDiffers() {
		return 0
	}
	return d.statusDebounce()
}

// onlyCounts says that the status as it shall be differs from the one on record in counts of replicas at most.
func (d *draft) onlyCounts() bool {
	counts := d.status
	counts.ReplicaStatuses = d.Head.Status.ReplicaStatuses
	return same(&d.Head.Status, &counts, d.KeepsGeneration)
}

// debounceAfter is minDebounce or, where the first replica of a job took longer to run, as long as that: the others come as slowly,
// as images are pulled, nodes are added or the cluster is behind with its work.
//
//	the job                  took to run since
//	was restarted            no one knows: minDebounce
//	was suspended            its start time: it did not run because it was not to
//	else                     its creation: the operator was behind with its work, too
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

// sameReplicaTypes says that two statuses differ in numbers at most.
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

// onlyMore says that new counts of the same replica types tell of nothing but replicas that came to run or are done.
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
