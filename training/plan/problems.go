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

// troubled holds the pods with the same reason of a problem: the first one, what is said of it, and their number.
type troubled struct {
	first *training.Pod
	said  string
	count int
}

// podProblemEvents reports pods that cannot run, once for each reason: the name of the first pod and the number of others.
//
// While the job runs, all events with one reason have the same name, whichever pods they count, so a thousand pods, or one
// that is replaced again and again, cause one event. The API server rejects a second one while the first exists, an hour
// by default. Nothing else is recorded.
//
//	the job                     events about pods that
//	runs                        wait, and are not being deleted; have failed; are removed; do not end
//	is suspended                do not end (the others are deleted)
//	has ended a short time ago  have failed; were removed: it may be why the job ended
func (d *draft) podProblemEvents() {
	over := terminal(&d.status) != ""
	if d.status.StartTime == nil || over && (d.status.CompletionTime == nil || !d.recent(*d.status.CompletionTime)) {
		return
	}
	found := d.troubledPods(over)
	if len(found) == 0 {
		return
	}
	for _, kind := range d.problemKinds() {
		if of := found[kind.Reason]; of.count > 0 {
			d.podProblemEvent(kind, of)
		}
	}
}

// troubledPods returns the pods that have problems, by reason; nil if none has.
func (d *draft) troubledPods(over bool) (found map[string]troubled) {
	add := func(reason string, p *training.Pod, said string) {
		if found == nil {
			found = map[string]troubled{}
		}
		of := found[reason]
		if of.count++; of.first == nil {
			of.first, of.said = p, said
		}
		found[reason] = of
	}
	if d.Job == nil || !d.Job.Policy.Suspend {
		for p := range d.allPods() {
			if p.Problem != nil && !((p.Deleting || over) && d.mayStillRun(p)) {
				add(p.Problem.Reason, p, "")
			}
		}
	}
	for i := range d.waits {
		if w := &d.waits[i]; w.pod != nil {
			add(w.reason, w.pod, w.sentence)
		}
	}
	return found
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

// mayStillRun reports whether a pod with a problem may still run.
func (d *draft) mayStillRun(p *training.Pod) bool {
	kind := d.problemKindOf(p)
	return p.Phase != corev1.PodFailed && kind != nil && kind.Waits
}

// problemKindOf returns the kind of the problem of a pod; nil if it has none, or one of another version.
func (d *draft) problemKindOf(p *training.Pod) *training.PodProblemKind {
	if p.Problem == nil {
		return nil
	}
	kinds := d.problemKinds()
	i := slices.IndexFunc(kinds, func(k training.PodProblemKind) bool { return k.Reason == p.Problem.Reason })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// problemKinds returns training.PodProblemKinds, which allocates them once for a plan, if at all.
func (d *draft) problemKinds() []training.PodProblemKind {
	if d.kinds == nil {
		d.kinds = training.PodProblemKinds()
	}
	return d.kinds
}

// startOccasion is the occasion of events that are sent once for each start of the job.
func (d *draft) startOccasion() string {
	return "start " + d.status.StartTime.UTC().Format(time.RFC3339)
}

// said joins a sentence and a detail, if there is one.
func said(sentence, detail string) string {
	if detail == "" {
		return sentence
	}
	return sentence + ": " + detail
}

func (d *draft) podProblemEvent(kind training.PodProblemKind, of troubled) {
	message := "pod " + of.first.Name
	if of.count > 1 {
		message += fmt.Sprintf(" and %d more", of.count-1)
	}
	if of.said != "" {
		message += ": " + of.said
	} else {
		message += ": " + said(kind.Sentence, of.first.Problem.Detail)
	}
	level := corev1.EventTypeWarning
	if kind.Intended {
		level = corev1.EventTypeNormal
	}
	d.plan.Events = append(d.plan.Events, Event{Type: level, Reason: kind.Reason, Message: schema.Clean(message, maxMessage),
		Occasion: d.startOccasion(), Since: d.now.Time, Key: "pods", Settle: gatherFor,
		Count: &schema.Count{Counter: string(CountProblem), Reason: kind.Reason}})
}
