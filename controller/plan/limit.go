package plan

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// expired: the deadline holds also for a job that nothing else happens to: the plan asks to look again then. A lead that
// has succeeded is a success, also if the operator was down when it was done and the deadline has passed since.
func expired(d *draft) bool {
	if deadline := d.Job.Policy.Deadline; !deadline.Set || !d.past(*d.status.StartTime, deadline) {
		return false
	}
	d.fail(fmt.Sprintf("Job %s has failed because it was active longer than specified deadline", d.Head.Meta.Name))
	return true
}

// exhausted: replicas were restarted more often than allowed. What is counted is what the kubelets restarted
// in the pods that run now: a limit of n is reached with the n-th restart. A limit of 0 allows none at all, not
// even that a failed pod is replaced.
//
// Known limit: replaced pods take their count with them, as nothing on record says how often that happened.
func exhausted(d *draft) bool {
	limit := d.Job.Policy.Backoff
	if !limit.Set {
		return false
	}
	sum := int64(0)
	for i := range d.replicas {
		r := &d.replicas[i]
		if limit.Value == 0 && fateOf(r, d.Head.Kind.Container) == replaced {
			sum++
		}
		if r.pod != nil && r.pod.Phase == corev1.PodRunning && !r.pod.Deleting && r.role.Restart != schema.RestartNever {
			sum += min(max(r.pod.Restarts, 0), math.MaxInt32) // a claim by a kubelet; the sum must not wrap
		}
	}
	if sum < max(limit.Value, 1) {
		return false
	}
	d.fail(fmt.Sprintf("Job %s has failed because it has reached the specified backoff limit", d.Head.Meta.Name))
	return true
}

// past says whether limit seconds have gone by since a time. A time in the future counts as now: a clock
// that jumps, or an edited status, may put the end off but never bring it on. Seconds are compared, not
// durations: a limit of ten thousand million seconds is legal and longer than a Duration.
func (d *draft) past(since metav1.Time, limit schema.Limit) bool {
	return d.elapsed(since) >= limit.Value
}

func (d *draft) elapsed(since metav1.Time) int64 { return max(d.now.Unix()-since.Unix(), 0) }

// until is how long it takes until that. Nothing is waited for longer than a day: a pass costs nothing, and
// a clock that jumped is found out.
func (d *draft) until(since metav1.Time, limit schema.Limit) time.Duration {
	const day = 24 * time.Hour
	left := limit.Value - d.elapsed(since)
	if left > int64(day/time.Second) {
		return day
	}
	return max(time.Duration(left)*time.Second-d.Now.Sub(d.now.Time), soon)
}
