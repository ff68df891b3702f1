package plans

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
)

// disturbed says that the simulated kubelet has deleted a pod that nobody asked it to: it ends pods by name, and on a busy
// machine its second try can meet the successor of the pod that it means. That is the simulator's doing and no real
// kubelet's, which names the UID; the plan is tried again. It is certain only where nobody else can have done it: the
// operator has sent no DELETE for the pod, the plan deletes no pods itself, and the pod's job is there and stays, so that no
// garbage was collected.
func (a *Attempt) disturbed() bool {
	if a.Goal == "G14" {
		return false
	}
	deleted := map[types.UID]bool{}
	for _, e := range a.Track.Journal() {
		if e.Verb != "delete" || e.Resource != "pods" || !e.Forwarded {
			continue
		}
		for _, v := range a.Life.Versions() {
			if uid := v.Object.GetUID(); v.Resource.Resource == "pods" && contains(e.Request.Body, string(uid)) {
				deleted[uid] = true
			}
		}
	}
	jobs := map[types.UID]bool{} // that are there
	for _, v := range a.Life.Versions() {
		uid := v.Object.GetUID()
		switch {
		case v.Resource == a.Scenario.Resource:
			jobs[uid] = v.Type != watch.Deleted && v.Object.GetDeletionTimestamp() == nil
		case v.Resource.Resource == "pods" && v.Object.GetDeletionTimestamp() != nil && !deleted[uid] && jobs[history.Owner(v.Object)]:
			return true
		}
	}
	return false
}
