package plan

import (
	"time"

	"stoic/schema"
	"stoic/training"
)

// clean deletes children as cleanPodPolicy says. The policy is a desired state: every reconcile applies it
// until the children match.
//
//	policy    pods                              services
//	None      stay                              stay
//	Running   stay if Succeeded or Failed       stay if their pod does
//	All       are deleted                       are deleted
//
// Pods that have not ended and may run on (training.Grace) stay as under None, and so do their services.
func (d *draft) clean() {
	inGrace := d.podsInGrace()
	switch d.Job.Policy.CleanPods {
	case training.CleanAll:
		d.clear(func(p *training.Pod) bool { return inGrace[p.Name] })
	case training.CleanRunning:
		d.clear(func(p *training.Pod) bool { return hasEnded(p) || inGrace[p.Name] })
	}
	d.cleanBatch()
	d.noteTerminal()
}

// podsInGrace returns the names of the pods that may run on after the job has succeeded, and requeues for the end of that
// time. A completion time far in the future, of an edited status, gives no grace: otherwise they would run on until then.
func (d *draft) podsInGrace() map[string]bool {
	grace := d.Job.Grace
	end := d.status.CompletionTime
	if !grace.Duration.Set || d.Job.Policy.CleanPods == training.CleanNone || terminal(&d.status) != training.Succeeded || end == nil {
		return nil
	}
	if d.past(*end, grace.Duration) || end.Sub(d.Now) > maxClockSkew {
		return nil
	}
	inGrace := map[string]bool{}
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.replicaType.Name == grace.ReplicaType && r.pod != nil && !r.pod.Deleting && !hasEnded(r.pod) {
			inGrace[r.name] = true
		}
	}
	if len(inGrace) > 0 {
		d.requeue(d.until(*end, grace.Duration))
	}
	return inGrace
}

// maxClockSkew is how far the clock of another operator process may be ahead of ours.
const maxClockSkew = 5 * time.Minute

// clear deletes all pods except those to keep, and all services except those of kept pods.
func (d *draft) clear(keep func(*training.Pod) bool) {
	kept := make(map[string]bool)
	for i := range d.Pods {
		p := &d.Pods[i]
		if !p.Deleting && keep(p) {
			kept[p.Name] = true
			continue
		}
		d.deletePod(p)
	}
	for i := range d.Services {
		if s := &d.Services[i]; !kept[s.Name] {
			d.deleteService(s)
		}
	}
}

func (d *draft) deletePod(p *training.Pod) {
	if !p.Deleting && !d.full(len(d.plan.Delete), 0) {
		d.plan.Delete = append(d.plan.Delete, Deletion{Resource: schema.Pods(), Namespace: d.Head.Meta.Namespace, Name: p.Name, UID: p.UID})
	}
}

func (d *draft) deleteService(s *training.Service) {
	if !s.Deleting && !d.full(len(d.plan.Delete), 0) {
		d.plan.Delete = append(d.plan.Delete, Deletion{Resource: schema.Services(), Namespace: d.Head.Meta.Namespace, Name: s.Name, UID: s.UID})
	}
}
