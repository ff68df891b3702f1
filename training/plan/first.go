package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// A message about failures names the pod that failed first: the others often fail because of it. All pods that failed at an
// unknown time come last, and pods that failed at the same time are in the order of their replicas.

// firstFailure returns the pod that failed first, of the replicas that are chosen; nil if none is.
func (d *draft) firstFailure(isChosen func(*replica) bool) (first *training.FailedPod) {
	for i := range d.replicas {
		if r := &d.replicas[i]; isChosen(r) {
			first = earlier(first, r.pod.FailureOf(r.replicaType.Container))
		}
	}
	return first
}

// earlier returns the pod that failed earlier; first if the order is unknown. Either may be nil.
func earlier(first, next *training.FailedPod) *training.FailedPod {
	if first == nil || next != nil && next.IsBefore(first) {
		return next
	}
	return first
}

// hasFailedNow reports whether the pod of a replica has failed, and was not reported before as one that is replaced. A pod that
// is being deleted ends because of that, unless it was disrupted, as by a drain: then others fail because of it.
func (d *draft) hasFailedNow(r *replica) bool {
	return r.pod != nil && r.pod.Phase == corev1.PodFailed && (!r.pod.Deleting || r.pod.Disrupted) && !d.onRecord(r)
}

// firstFailureBefore returns the pod of a finished job that failed first, if it is known to have failed before the end of the
// job. Pods that are deleted because the job is over end later.
func (d *draft) firstFailureBefore(end *metav1.Time) *training.FailedPod {
	first := d.firstFailure(func(r *replica) bool { return r.pod != nil && r.pod.Phase == corev1.PodFailed })
	if first == nil || first.At == nil || end == nil || first.At.Unix() > end.Unix() {
		return nil
	}
	return first
}

// failBecauseOf fails the job. The message names the pod that failed first, if there is one.
func (d *draft) failBecauseOf(first *training.FailedPod, message string) {
	d.failure = first
	d.fail(naming(first, message))
}

// naming appends the pod that failed first to a message, which clients know without it.
func naming(first *training.FailedPod, message string) string {
	if first == nil {
		return message
	}
	return schema.Clean(sentence(message)+" First: "+first.String()+".", maxMessage)
}

// sentence returns a message that ends with a full stop.
func sentence(message string) string {
	return strings.TrimSuffix(message, ".") + "."
}
