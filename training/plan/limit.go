package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// expired fails a job whose deadline has passed. The rule succeeded comes first: a job that succeeded while the operator was
// down is a success, even if the deadline has passed since.
func expired(d *draft) bool {
	if deadline := d.Job.Policy.Deadline; !deadline.Set || !d.past(*d.status.StartTime, deadline) {
		return false
	}
	d.fail(fmt.Sprintf("Job %s has failed because it was active longer than specified deadline", d.Head.Meta.Name))
	return true
}

// exhausted fails a job whose replicas were restarted more often than allowed, or would be. It counts the restarts in the
// ledger and the kubelets' restarts in pods that run or wait now, whatever the restart policy: an init container restarts in
// a pod that is Pending, and a sidecar restarts under every policy.
//
//	who restarts   a limit of n is reached                       n = 0
//	the operator   when it would have to for the n+1-th time     a pod that would be replaced fails the job
//	a kubelet      when it has for the n-th time (as in 1.9)     its first restart does
//
// The replacement of a disrupted pod does not count, but the restarts by its kubelet do.
func exhausted(d *draft) bool {
	limit := d.Job.Policy.Backoff
	if !limit.Set {
		return false
	}
	needed, kubelets := training.Count(d.ledger.Restarts), int64(0) // claims, all of them; the sums must not wrap
	for i := range d.replicas {
		r := &d.replicas[i]
		switch {
		case failureActionOf(r) == replaced && !d.onRecord(r) && !r.pod.Disrupted:
			needed += restartsOf(r.pod)
		case failureActionOf(r) == replaced && !d.onRecord(r), r.pod != nil && !r.pod.Deleting && !hasEnded(r.pod):
			kubelets += training.Count(r.pod.Restarts)
		}
	}
	if sum := needed + kubelets; sum < limit.Value || sum == limit.Value && kubelets == 0 {
		return false
	}
	first := d.firstFailure(d.countsNow)
	if first == nil {
		first = d.ledger.LastFailure
	}
	d.failBecauseOf(first, fmt.Sprintf("Job %s has failed because it has reached the specified backoff limit", d.Head.Meta.Name))
	return true
}

// countsNow reports whether the pod of a replica counts towards the limit, and is not on record yet.
func (d *draft) countsNow(r *replica) bool {
	switch {
	case r.pod == nil || r.pod.Deleting || d.onRecord(r):
		return false
	case r.pod.Phase == corev1.PodFailed && !r.pod.Disrupted:
		return true
	}
	return r.pod.Phase != corev1.PodSucceeded && r.pod.Restarts > 0
}

// hasEnded reports whether the pod is over, well or badly.
func hasEnded(pod *training.Pod) bool {
	return pod.Phase == corev1.PodSucceeded || pod.Phase == corev1.PodFailed
}

// past reports whether limit seconds have passed since a time. A time in the future counts as now: a clock
// that jumps, or an edited status, may postpone the end but never advance it. Seconds are compared, not
// durations: a limit of ten thousand million seconds is legal and longer than a Duration.
func (d *draft) past(since metav1.Time, limit training.Limit) bool {
	return d.elapsed(since) >= limit.Value
}

func (d *draft) elapsed(since metav1.Time) int64 { return max(d.now.Unix()-since.Unix(), 0) }

// until returns the delay until past becomes true, at most a day: a reconcile is cheap, and it notices a clock that
// has jumped.
func (d *draft) until(since metav1.Time, limit training.Limit) time.Duration {
	const day = 24 * time.Hour
	left := limit.Value - d.elapsed(since)
	if left > int64(day/time.Second) {
		return day
	}
	return max(time.Duration(left)*time.Second-d.Now.Sub(d.now.Time), soon)
}
