package plan

import (
	corev1 "k8s.io/api/core/v1"

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
func (d *draft) clean() {
	switch d.Job.Policy.CleanPods {
	case training.CleanAll:
		d.clear(func(*training.Pod) bool { return false })
	case training.CleanRunning:
		d.clear(func(p *training.Pod) bool { return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed })
	}
	d.cleanBatch()
	d.noteTerminal()
}

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
