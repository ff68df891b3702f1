package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// expired: the deadline holds also for a job that nothing else happens to: the plan asks to look again then. A replica type that
// has succeeded is a success, also if the operator was down when it was done and the deadline has passed since.
func expired(d *draft) bool {
	if deadline := d.Job.Policy.Deadline; !deadline.Set || !d.past(*d.status.StartTime, deadline) {
		return false
	}
	d.fail(fmt.Sprintf("Job %s has failed because it was active longer than specified deadline", d.Head.Meta.Name))
	return true
}

// exhausted: replicas were restarted more often than allowed, or would be. What is counted is what the ledger says and
// what the kubelets have restarted in the pods that run now.
//
//	who restarts   a limit of n is reached                       n = 0
//	the operator   when it would have to for the n+1-th time     a pod that would be replaced fails the job
//	a kubelet      when it has for the n-th time (as in 1.9)     its first restart does
func exhausted(d *draft) bool {
	limit := d.Job.Policy.Backoff
	if !limit.Set {
		return false
	}
	needed, kubelets := training.Count(d.ledger.Restarts), int64(0) // claims, all of them; the sums must not wrap
	for i := range d.replicas {
		r := &d.replicas[i]
		if failureActionOf(r) == replaced && !d.onRecord(r) {
			needed += restartsOf(r.pod)
		}
		if r.pod != nil && r.pod.Phase == corev1.PodRunning && !r.pod.Deleting && r.replicaType.Restart != training.RestartNever {
			kubelets += training.Count(r.pod.Restarts)
		}
	}
	if sum := needed + kubelets; sum < limit.Value || sum == limit.Value && kubelets == 0 {
		return false
	}
	d.fail(fmt.Sprintf("Job %s has failed because it has reached the specified backoff limit", d.Head.Meta.Name))
	return true
}

// past says whether limit seconds have gone by since a time. A time in the future counts as now: a clock
// that jumps, or an edited status, may put the end off but never bring it on. Seconds are compared, not
// durations: a limit of ten thousand million seconds is legal and longer than a Duration.
func (d *draft) past(since metav1.Time, limit training.Limit) bool {
	return d.elapsed(since) >= limit.Value
}

func (d *draft) elapsed(since metav1.Time) int64 { return max(d.now.Unix()-since.Unix(), 0) }

// until is how long it takes until that. Nothing is waited for longer than a day: a reconcile costs nothing, and
// a clock that jumped is found out.
func (d *draft) until(since metav1.Time, limit training.Limit) time.Duration {
	const day = 24 * time.Hour
	left := limit.Value - d.elapsed(since)
	if left > int64(day/time.Second) {
		return day
	}
	return max(time.Duration(left)*time.Second-d.Now.Sub(d.now.Time), soon)
}
