package plan

import (
	"slices"
	"strings"
	"time"

	"stoic/schema"
)

// A failed pod that is to be replaced is put on record when it is seen, in the ledger on the job, and is deleted only
// when it is there. Whatever happens between any two writes, it is counted once:
//
//	the ledger           the pod                  then
//	does not name it     has failed               name it, count it
//	names it             is still there           delete it, when it has stood long enough
//	names it             is gone, no other yet    create its successor, which is told how many failed before it
//	names it             another is there         forget it, when the ledger is written next

// onRecord says whether the pod of a replica is in the ledger as it shall be.
func (d *draft) onRecord(r *replica) bool {
	failure, ok := d.ledger.Failed[r.inLedger()]
	return ok && failure.Pod == r.pod.UID
}

func (r *replica) inLedger() string { return schema.ReplicaName(r.role.Label, r.index) }

// note puts the failed pods on record that are to be replaced and are not there yet, as many as there is room for. The
// others wait: room is made by pods that come, which is an event.
func (d *draft) note() {
	kept := d.standing()
	total, fresh := schema.Count(d.ledger.Restarts), false
	for i := range d.replicas {
		r := &d.replicas[i]
		if fateOf(r, d.Head.Kind.Container) == replaced && !d.onRecord(r) && len(kept) < schema.MaxLedger {
			kept[r.inLedger()] = schema.Failure{Pod: r.pod.UID, Row: d.rowOf(r.pod)}
			total, fresh = schema.Count(total+restartsOf(r.pod)), true
		}
	}
	if !fresh {
		return
	}
	d.ledger = schema.Ledger{Job: d.Head.Meta.UID, Restarts: total, Failed: kept}
	ledger := d.ledger
	d.plan.Ledger = &ledger
	d.count(CountRestarted)
}

// stillNoted is how long after its end a job's verdict is put into the ledger if pods are missing.
const stillNoted = 10 * time.Minute

// noteVerdict puts the verdict into the ledger, too, before the pods go that proved it, or when others take them away: while
// they go, or when they have gone since the job ended, unseen by a process that began after that. A job whose pods stay pays
// nothing, nor does one whose pods have gone long ago.
func (d *draft) noteVerdict() {
	isPod := func(deletion Deletion) bool { return deletion.Resource == schema.Pods() }
	isGoing := func(p schema.Pod) bool { return p.Deleting }
	isMissing := func(r replica) bool { return r.pod == nil }
	end := d.status.CompletionTime
	fresh := end != nil && d.Now.Sub(end.Time) < stillNoted
	if d.ledger.Verdict != "" || !slices.ContainsFunc(d.plan.Delete, isPod) && !slices.ContainsFunc(d.Pods, isGoing) &&
		!(fresh && slices.ContainsFunc(d.replicas, isMissing)) {
		return
	}
	d.ledger = schema.Ledger{Job: d.Head.Meta.UID, Restarts: schema.Count(d.ledger.Restarts),
		Verdict: verdict(&d.status), At: d.status.CompletionTime.DeepCopy()}
	ledger := d.ledger
	d.plan.Ledger = &ledger
}

// standing is a copy of the entries that are still of use: the failed pod is still there, or nothing is in its place.
func (d *draft) standing() map[string]schema.Failure {
	kept := make(map[string]schema.Failure, len(d.ledger.Failed))
	for i := range d.Pods { // strays, too
		name := strings.TrimPrefix(d.Pods[i].Name, d.Head.Meta.Name+"-")
		if failure, ok := d.ledger.Failed[name]; ok && failure.Pod == d.Pods[i].UID {
			kept[name] = failure
		}
	}
	for i := range d.replicas {
		name := d.replicas[i].inLedger()
		if failure, ok := d.ledger.Failed[name]; ok && d.replicas[i].pod == nil {
			kept[name] = failure
		}
	}
	return kept
}

// restartsOf a failed pod: its own, and what its kubelet has restarted in it, of which nothing will be left.
func restartsOf(pod *schema.Pod) int64 { return 1 + schema.Count(pod.Restarts) }

func (d *draft) rowOf(pod *schema.Pod) int64 {
	if d.Now.Sub(pod.Created) >= rowEnds {
		return 1
	}
	return schema.Count(schema.Count(pod.Row) + 1)
}
