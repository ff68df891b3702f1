package plan

import (
	"time"

	"stoic/schema"
)

// calmFor is how long a status that was just written stands before more replicas that run, or are done, are a reason to
// write it again: a thousand replicas that start are then a few writes and not a thousand.
const calmFor = 2 * time.Second

// calm is how long a new status can wait; 0 says that it must be written now.
//
//	what is new                                 waits
//	a condition, a time, a generation           no
//	a replica failed, or fewer are accounted for no
//	more replicas are active or have succeeded  until the last status is calmFor old
func (d *draft) calm() time.Duration {
	since := d.Now.Sub(d.Recorded)
	if d.Recorded.IsZero() || since < 0 || since >= calmFor || d.Head.Status.Unclean {
		return 0
	}
	counts := d.status
	counts.ReplicaStatuses = d.Head.Status.ReplicaStatuses
	if !same(&d.Head.Status, &counts, d.KeepsGeneration) || !onlyMore(d.Head.Status.ReplicaStatuses, d.status.ReplicaStatuses) {
		return 0
	}
	return calmFor - since
}

// onlyMore says that new counts tell of nothing but replicas that came to run or are done.
func onlyMore(old, found map[string]schema.ReplicaStatus) bool {
	if len(old) != len(found) {
		return false
	}
	for role, now := range found {
		was, known := old[role]
		if !known || was.Selector != now.Selector || was.Failed != now.Failed ||
			int64(was.Active)+int64(was.Succeeded) > int64(now.Active)+int64(now.Succeeded) || was.Succeeded > now.Succeeded {
			return false
		}
	}
	return true
}
