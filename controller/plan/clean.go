package plan

import (
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// clean deletes what cleanPodPolicy says. It is a state, not an act: it is asked for again in every pass
// until the children match.
//
//	policy    pods                              services
//	None      stay                              stay
//	Running   stay if Succeeded or Failed       stay if their pod does
//	All       go                                go
func (d *draft) clean() {
	switch d.Job.Policy.CleanPods {
	case schema.CleanAll:
		d.clear(func(*schema.Pod) bool { return false })
	case schema.CleanRunning:
		d.clear(func(p *schema.Pod) bool { return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed })
	}
	d.noteVerdict()
}

// clear deletes all pods but those to keep, and all services but theirs.
func (d *draft) clear(keep func(*schema.Pod) bool) {
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

func (d *draft) deletePod(p *schema.Pod) {
	if !p.Deleting && !d.full(len(d.plan.Delete), 0) {
		d.plan.Delete = append(d.plan.Delete, Deletion{schema.Pods(), d.Head.Meta.Namespace, p.Name, p.UID})
	}
}

func (d *draft) deleteService(s *schema.Service) {
	if !s.Deleting && !d.full(len(d.plan.Delete), 0) {
		d.plan.Delete = append(d.plan.Delete, Deletion{schema.Services(), d.Head.Meta.Namespace, s.Name, s.UID})
	}
}
