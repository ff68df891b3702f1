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

// gatherFor is how long an event about pods waits for further pods: pods that are created together have the same problem.
const gatherFor = 300 * time.Millisecond

// troubled holds the pods with the same reason of a problem: the first one and their number.
type troubled struct {
	first *training.Pod
	count int
}

// podProblemEvents reports pods that cannot run, once for each reason: the name of the first pod and the number of others.
//
// While the job runs, all events with one reason have the same name, whichever pods they count, so a thousand pods, or one
// that is replaced again and again, cause one event. The API server rejects a second one while the first exists, an hour
// by default. Nothing else is recorded.
//
//	the job                     events about pods that
//	runs                        wait, and are not being deleted; have failed; are removed
//	is suspended                (none: the pods are deleted)
//	has ended a short time ago  have failed; were removed: it may be why the job ended
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

// allPods returns the pods of the job: those that the operator created and those of its batch/v1 Job.
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

// isOfBatchJob reports whether the Job that created the pod runs a replica type, even if the spec is rejected. A user created
// any other Job by hand.
func (d *draft) isOfBatchJob(p *training.Pod) bool {
	return slices.ContainsFunc(d.BatchJobs, func(job training.BatchJob) bool {
		return job.UID == p.Through && slices.ContainsFunc(d.Head.Kind.ReplicaTypes, func(rtype training.KnownReplicaType) bool {
			return rtype.Batch && job.Name == rtype.Child(d.Head.Meta.Name, 0)
		})
	})
}

// waits reports whether a pod with one of these problems may still run.
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
