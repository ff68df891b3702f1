package plan

import (
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

// gatherFor is how long an event about pods waits for more of them: pods that are made together wait together.
const gatherFor = 300 * time.Millisecond

// troubled are the pods that have a problem for one reason.
type troubled struct {
	first *training.Pod
	count int
}

// podProblemEvents reports pods that cannot run, once for each reason: the first by its name, the others by their number.
//
// What is planned here has one identity for as long as the job runs, whichever pods it counts, so a thousand pods, or one that
// comes and goes, are one event. The API server refuses the second one for as long as it keeps the first, an hour by default;
// there is no other record, and none is written.
//
//	the job                     events about pods that
//	runs                        wait, and are not being deleted; have failed; are taken away
//	is suspended                (none: the pods are deleted)
//	has ended a short time ago  have failed; were taken away: it may be why
func (d *draft) podProblemEvents() {
	over := terminal(&d.status) != ""
	if d.status.StartTime == nil || d.Job != nil && d.Job.Policy.Suspend ||
		over && (d.status.CompletionTime == nil || !d.recent(*d.status.CompletionTime)) {
		return
	}
	var kinds []training.PodProblemKind
	var found map[string]troubled
	for p := range d.allPods() {
		if p.Problem == nil {
			continue
		}
		if found == nil {
			kinds, found = training.PodProblemKinds(), map[string]troubled{}
		}
		of := found[p.Problem.Reason]
		if waits(kinds, p) && (p.Deleting || over) {
			continue
		}
		if of.count++; of.first == nil {
			of.first = p
		}
		found[p.Problem.Reason] = of
	}
	if len(found) == 0 {
		return
	}
	for _, kind := range kinds {
		if of := found[kind.Reason]; of.count > 0 {
			d.podProblemEvent(kind, of)
		}
	}
}

// allPods are the pods of the job: those that the operator has made and those of its batch/v1 Job.
func (d *draft) allPods() iter.Seq[*training.Pod] {
	return func(yield func(*training.Pod) bool) {
		for i := range d.Pods {
			if !yield(&d.Pods[i]) {
				return
			}
		}
		for i := range d.BatchPods {
			if p := &d.BatchPods[i]; d.isOfBatchJob(p) && !yield(p) {
				return
			}
		}
	}
}

// isOfBatchJob: the Job that has made the pod is the one that runs a replica type, whether the spec can be read or not. Another
// one is somebody's work by hand.
func (d *draft) isOfBatchJob(p *training.Pod) bool {
	return slices.ContainsFunc(d.BatchJobs, func(job training.BatchJob) bool {
		return job.UID == p.Through && slices.ContainsFunc(d.Head.Kind.ReplicaTypes, func(rtype training.KnownReplicaType) bool {
			return rtype.Batch && job.Name == rtype.Child(d.Head.Meta.Name, 0)
		})
	})
}

// waits says whether a pod with one of these problems may still run.
func waits(kinds []training.PodProblemKind, p *training.Pod) bool {
	return p.Phase != corev1.PodFailed && slices.ContainsFunc(kinds, func(k training.PodProblemKind) bool { return k.Waits && k.Reason == p.Problem.Reason })
}

func (d *draft) podProblemEvent(kind training.PodProblemKind, of troubled) {
	message := "pod " + of.first.Name
	if of.count > 1 {
		message += fmt.Sprintf(" and %d more", of.count-1)
	}
	message += ": " + kind.Sentence
	if of.first.Problem.Detail != "" {
		message += ": " + of.first.Problem.Detail
	}
	level := corev1.EventTypeWarning
	if kind.Intended {
		level = corev1.EventTypeNormal
	}
	d.plan.Events = append(d.plan.Events, Event{Type: level, Reason: kind.Reason, Message: schema.Clean(message, maxMessage),
		Occasion: "start " + d.status.StartTime.UTC().Format(time.RFC3339), Since: d.now.Time, Key: "pods", Settle: gatherFor,
		Count: &schema.Count{Counter: string(CountProblem), Reason: kind.Reason}})
}
