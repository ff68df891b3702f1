package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// A job that waits for longer than a minute says for what: in an event, and in a note at the end of the message of the condition that
// is its state. The first of these rules that finds something decides what the note says.
//
//	rule              the job waits for                                    since                     event
//	endingPods        a pod that was deleted and does not end              its deletionTimestamp     PodNotEnding
//	endingDependents  the same of another object whose name it needs       its deletionTimestamp     DependentNotEnding
//	halfEndedPods     a replica of which one container runs on             the training container    PodHalfEnded
//	                                                                       ended
//	pausedPods        a failed pod that is replaced after a back-off of    the back-off exceeds a    (KINDRestarting)
//	                  more than a minute                                   minute
//	unadmittedGroups  a group that its scheduler has not admitted          the creation of the group (PodGroupNotAdmitted)
//	unstartedPods     a pod that has not started                           its creation              that of its problem, or
//	                                                                                                 PodNotStarted
//	unreadyPods       a pod that runs and is not ready, if a launcher      its creation              PodNotReady
//	                  waits for it
//	emptyJob          a batch/v1 Job that runs and has no pod              its start, or the end of  JobWithoutPod
//	                                                                       its last pod
//
// A note is stable: it contains no number and no text that changes while the job waits. It stays as long as it is true of any pod,
// because many pods may start one by one; else it is about the last pod in the order of names. A change of the note can wait as long as
// more running replicas can: see statusDebounce. Clients compare the type, status and reason of a condition, which a note does not
// change. There is no note about a job that is over or rejected.

const (
	// waitsAfter is how long a job waits before it says so.
	waitsAfter = time.Minute
	// endsAfter is the same for objects that are being deleted. The deletionTimestamp of a pod includes its grace period.
	endsAfter = 30 * time.Second
	// looksAgain is how often a pod that has not started is looked at again while a note is about one: its steps wake no reconcile.
	looksAgain = time.Minute
	// longestWait bounds the delay until a wait is told: a time in the object may be far in the future.
	longestWait = 24 * time.Hour

	// noteMark separates the message of a condition from the note. No message of ours contains it.
	noteMark = " Waiting: "
)

// wait is something that the job waits for.
type wait struct {
	// subject is what it is: "pod mnist-worker-0".
	subject string
	// sentence says what keeps it; it is stable.
	sentence string
	// pod and reason are set if there is an event about the pod.
	pod    *training.Pod
	reason string
}

func (w *wait) note() string { return schema.Clean(w.subject+": "+w.sentence, maxMessage) }

// findWaits returns what the job waits for, in the order of the rules.
func (d *draft) findWaits() (found []wait) {
	if d.Job == nil || terminal(&d.status) != "" {
		return nil
	}
	found = d.endingPods(found)
	if d.status.Is(training.Suspended) {
		return found
	}
	if !d.isBeingDeleted() {
		found = d.endingDependents(found)
		found = d.pausedPods(found)
		found = d.unadmittedGroups(found)
	}
	found = d.halfEndedPods(found)
	found = d.unstartedPods(found)
	found = d.unreadyPods(found)
	return d.emptyJob(found)
}

// isDue reports whether something has been waited for since a time for long enough. If it has not yet, the plan requeues for that moment.
func (d *draft) isDue(since time.Time, after time.Duration) bool {
	if since.IsZero() {
		return false
	}
	left := since.Add(after).Sub(d.Now)
	if left > 0 {
		d.requeue(min(left, longestWait))
		return false
	}
	return true
}

func (d *draft) endingPods(found []wait) []wait {
	for p := range d.allPods() {
		if p.Deleting && p.Wait != nil && p.Wait.Ending != nil && d.isDue(p.Wait.Ending.At, endsAfter) {
			found = append(found, wait{"pod " + p.Name, d.whyNotEnding(p), p, training.ReasonPodNotEnding})
		}
	}
	return found
}

// whyNotEnding says what holds a pod that was deleted, and what happens when it is gone.
func (d *draft) whyNotEnding(p *training.Pod) string {
	finalizers := p.Wait.Ending.Finalizers
	if !hasEnded(p) { // the Job controller removes its own when the pod has ended
		finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == trackingFinalizer })
	}
	var holds []string
	if p.Wait.NodeLost {
		holds = append(holds, fmt.Sprintf("its node %s does not answer: if the node is gone for good, kubectl delete pod %s --force", p.Wait.Node, p.Name))
	}
	if len(finalizers) > 0 {
		holds = append(holds, heldBy(finalizers))
	}
	if len(holds) == 0 && p.Wait.Node != "" {
		holds = append(holds, "the kubelet of its node "+p.Wait.Node+" has not ended it: a process, a volume or the network of the pod may be stuck")
	}
	said := "was deleted and does not end"
	if len(holds) > 0 {
		said += ": " + strings.Join(holds, "; ")
	}
	if d.isReplaced(p) {
		said += "; its replacement is created when it is gone"
	}
	return said
}

// trackingFinalizer is on every pod of a batch/v1 Job.
const trackingFinalizer = "batch.kubernetes.io/job-tracking"

func heldBy(finalizers []string) string {
	if len(finalizers) == 1 {
		return "the finalizer " + finalizers[0] + " keeps it"
	}
	return "the finalizers " + strings.Join(finalizers, ", ") + " keep it"
}

// isReplaced reports whether a pod is created again when it is gone.
func (d *draft) isReplaced(p *training.Pod) bool {
	if d.isBeingDeleted() || d.status.Is(training.Suspended) {
		return false
	}
	return slices.ContainsFunc(d.replicas, func(r replica) bool { return r.pod != nil && r.pod.UID == p.UID && !r.recorded })
}

func (d *draft) endingDependents(found []wait) []wait {
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.service != nil && r.service.Deleting && !r.replicaType.NoService {
			found = d.endingDependent(found, "Service", r.service.Name, r.service.Ending)
		}
	}
	for i := range d.Dependents {
		stored := &d.Dependents[i]
		if stored.Deleting && d.isWanted(d.wanted, stored) {
			found = d.endingDependent(found, stored.Resource.Kind, stored.Name, stored.Ending)
		}
	}
	if job := d.batchJob(); job != nil && job.Deleting {
		found = d.endingDependent(found, "Job", job.Name, job.Ending)
	}
	return found
}

func (d *draft) endingDependent(found []wait, kind, name string, ending *training.Ending) []wait {
	if ending == nil || !d.isDue(ending.At, endsAfter) {
		return found
	}
	said := "was deleted and does not end"
	if len(ending.Finalizers) > 0 {
		said += ": " + heldBy(ending.Finalizers)
	}
	return append(found, wait{subject: kind + " " + name, sentence: said + "; it is created again when it is gone", reason: training.ReasonDependentNotEnding})
}

func (d *draft) halfEndedPods(found []wait) []wait {
	for p := range d.allPods() {
		if p.Deleting || p.Phase != corev1.PodRunning || p.Wait == nil || p.Wait.RunsOn == "" {
			continue
		}
		container := d.containerOf(p)
		if _, ended := p.ExitCode(container); !ended || !d.isDue(p.Wait.Ended, waitsAfter) {
			continue
		}
		said := fmt.Sprintf("container %s has ended, and container %s runs on: the replica ends when all its containers have ended", container, p.Wait.RunsOn)
		found = append(found, wait{"pod " + p.Name, said, p, training.ReasonPodHalfEnded})
	}
	return found
}

// containerOf returns the name of the training container of a pod; "" if the pod belongs to no replica.
func (d *draft) containerOf(p *training.Pod) string {
	if p.Through != "" {
		return d.Job.BatchReplicaType().Container
	}
	for i := range d.replicas {
		if r := &d.replicas[i]; r.pod != nil && r.pod.UID == p.UID {
			return r.replicaType.Container
		}
	}
	return ""
}

// pausedPods adds the failed pods whose back-off is long when it begins, and then until it ends.
func (d *draft) pausedPods(found []wait) []wait {
	for i := range d.replicas {
		r := &d.replicas[i]
		if failureActionOf(r) != replaced {
			continue
		}
		w := wait{subject: "pod " + r.pod.Name, sentence: "has failed again and again, and is replaced after a back-off"}
		if pause := d.pauseOf(r.pod); pause > waitsAfter || pause > 0 && w.note() == noteIn(&d.Head.Status) {
			found = append(found, w)
		}
	}
	return found
}

func (d *draft) unadmittedGroups(found []wait) []wait {
	for i := range d.wanted {
		stored, _ := d.stored(&d.wanted[i])
		if d.wanted[i].Gate == training.GateAdmitted && stored != nil && !stored.Deleting && isUnadmitted(stored) && d.isDue(stored.Created, waitsAfter) {
			found = append(found, wait{subject: stored.Resource.Kind + " " + stored.Name, sentence: "its scheduler has not admitted it; pods are created when it has"})
		}
	}
	return found
}

func (d *draft) unstartedPods(found []wait) []wait {
	for p := range d.allPods() {
		if p.Deleting || p.Phase != corev1.PodPending && p.Phase != "" || p.Wait == nil || !d.isDue(p.Created, waitsAfter) {
			continue
		}
		w := wait{subject: "pod " + p.Name}
		if kind := d.problemKindOf(p); kind != nil && kind.Waits && p.Wait.Init == "" {
			w.sentence = kind.Sentence // its event has the details, which change
		} else {
			w.sentence = whyNotStarted(p)
		}
		if p.Problem == nil {
			w.pod, w.reason = p, training.ReasonPodNotStarted
			d.requeue(looksAgain)
		}
		w.sentence += d.awaitedBy(p)
		found = append(found, w)
	}
	return found
}

// whyNotStarted says which step of its start a pod has not got over.
func whyNotStarted(p *training.Pod) string {
	switch w := p.Wait; {
	case w.Node == "" && w.Scheduler == "":
		return "has not started: no scheduler has looked at it"
	case w.Node == "":
		return "has not started: no scheduler has looked at it; its schedulerName is " + w.Scheduler
	case w.Init != "" && p.Restarts > 0:
		return "has not started: init container " + w.Init + " ends and is started again"
	case w.Init != "":
		return "has not started: init container " + w.Init + " has not ended"
	}
	return "has not started: node " + p.Wait.Node + " prepares its volumes, network, images and containers; see the events of the pod"
}

// awaitedBy names the replica type that has not started because it waits for a pod.
func (d *draft) awaitedBy(p *training.Pod) string {
	for i := range d.replicas {
		if r := &d.replicas[i]; r.pod != nil && r.pod.UID == p.UID {
			if waiting := d.waitingFor(r.replicaType); waiting != nil {
				return "; the " + waiting.Name + " waits for it"
			}
			return ""
		}
	}
	return ""
}

// waitingFor returns the replica type that has not started because it waits for another one; nil if there is none.
func (d *draft) waitingFor(awaited *training.ReplicaType) *training.ReplicaType {
	if d.isBeingDeleted() {
		return nil
	}
	if batch, job := d.Job.BatchReplicaType(), d.batchJob(); batch != nil && d.Job.Awaited(batch) == awaited && (job == nil || job.Suspended) {
		return batch
	}
	for i := range d.replicas {
		if r := &d.replicas[i]; d.Job.Awaited(r.replicaType) == awaited && r.pod == nil && !r.recorded {
			return r.replicaType
		}
	}
	return nil
}

// unreadyPods adds running pods for which a batch/v1 Job waits until they are ready.
func (d *draft) unreadyPods(found []wait) []wait {
	batch := d.Job.BatchReplicaType()
	if batch == nil {
		return found
	}
	awaited := d.Job.Awaited(batch)
	if awaited == nil || d.waitingFor(awaited) == nil {
		return found
	}
	for i := range d.replicas {
		r := &d.replicas[i]
		if r.replicaType == awaited && r.runs() && !r.pod.Ready && d.isDue(r.pod.Created, waitsAfter) {
			found = append(found, wait{"pod " + r.pod.Name, "runs and is not ready; the " + batch.Name + " waits for it", r.pod, training.ReasonPodNotReady})
		}
	}
	return found
}

// emptyJob adds the batch/v1 Job if it runs and has no pod that has not failed.
func (d *draft) emptyJob(found []wait) []wait {
	job := d.batchJob()
	if job == nil || job.Deleting || job.Suspended || job.Active > 0 || job.End != training.BatchRunning {
		return found
	}
	since := job.StartedAt
	for i := range d.BatchPods {
		p := &d.BatchPods[i]
		switch {
		case p.Through != job.UID:
		case p.Phase != corev1.PodFailed || p.Deleting || p.Wait == nil:
			return found
		case p.Wait.Ended.After(since):
			since = p.Wait.Ended
		}
	}
	if d.isDue(since, waitsAfter) {
		found = append(found, wait{subject: "Job " + job.Name, sentence: "runs and has no pod; see the events of the Job", reason: training.ReasonJobWithoutPod})
	}
	return found
}

// isNoted reports whether a condition of this type may have a note.
func isNoted(t training.ConditionType) bool {
	switch t {
	case training.Created, training.Running, training.Restarting, training.Suspended:
		return true
	}
	return false
}

// splitNote returns the message of a condition without its note, and the note; "" if there is none.
func splitNote(c *training.Condition) (message, note string) {
	if !isNoted(c.Type) {
		return c.Message, ""
	}
	message, note, _ = strings.Cut(c.Message, noteMark)
	return message, note
}

// noteIn returns the note in a status; "" if there is none.
func noteIn(s *training.Status) string {
	for i := range s.Conditions {
		if _, note := splitNote(&s.Conditions[i]); note != "" {
			return note
		}
	}
	return ""
}

// noteWaits puts the note into the last condition that is True, and removes it from all others. Only the message changes, and the time of
// the update.
func (d *draft) noteWaits() {
	d.waits = d.findWaits()
	note, last := d.chooseNote(), -1
	for i := range d.status.Conditions {
		if c := &d.status.Conditions[i]; c.Status == metav1.ConditionTrue && isNoted(c.Type) {
			last = i
		}
	}
	for i := range d.status.Conditions {
		c := &d.status.Conditions[i]
		message, _ := splitNote(c)
		if i == last && note != "" {
			message += noteMark + note
		}
		if message != c.Message {
			c.Message, c.LastUpdateTime = message, d.now
		}
	}
}

// chooseNote returns the stored note if it is still true; else one about the last of the first wait's kind.
func (d *draft) chooseNote() string {
	if len(d.waits) == 0 {
		return ""
	}
	stored := noteIn(&d.Head.Status)
	if stored != "" && slices.ContainsFunc(d.waits, func(w wait) bool { return strings.HasPrefix(stored, w.subject) && w.note() == stored }) {
		return stored
	}
	chosen := &d.waits[0]
	for i := range d.waits {
		if w := &d.waits[i]; w.reason == chosen.reason && w.sentence == chosen.sentence {
			chosen = w
		}
	}
	return chosen.note()
}

// onlyNotes reports whether two lists of conditions differ at most in notes.
func onlyNotes(stored, found []training.Condition) bool {
	return slices.EqualFunc(stored, found, func(a, b training.Condition) bool {
		was, oldNote := splitNote(&a)
		is, newNote := splitNote(&b)
		if oldNote != newNote {
			a.Message, b.Message, a.LastUpdateTime = was, is, b.LastUpdateTime
		}
		return sameCondition(a, b)
	})
}

// waitEvents reports the objects other than pods that the job waits for.
func (d *draft) waitEvents() {
	if d.status.StartTime == nil {
		return
	}
	for i := range d.waits {
		if w := &d.waits[i]; w.reason != "" && w.pod == nil {
			d.event(corev1.EventTypeWarning, w.reason, "", w.note(), d.startOccasion(), d.now)
		}
	}
}
