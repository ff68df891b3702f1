package plan

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/training"
)

// failureAction is what happens to a replica whose pod has failed.
type failureAction int

const (
	stays    failureAction = iota // nothing is to be done
	replaced                      // the pod is deleted and, when its name is free, created again
	fatal                         // the job fails
)

// failureActionOf returns the failure action of a replica, see also training.RestartPolicy. A pod that is being deleted has
// none. A pod that was running when it was deleted, or that vanished, has not failed: it is only missing.
//
//	replica type's policy  exit code                failure action  of an expendable replica type
//	any                    any, if it is disrupted  replaced        replaced
//	Always, OnFailure      any                      replaced        replaced
//	Never                  any                      fatal           stays
//	ExitCode               up to 127                fatal           stays
//	ExitCode               from 128 or unknown      replaced        replaced
func failureActionOf(r *replica) failureAction {
	if r.pod == nil || r.pod.Deleting || r.pod.Phase != corev1.PodFailed {
		return stays
	}
	if r.pod.Disrupted {
		return replaced
	}
	switch r.replicaType.Restart {
	case training.RestartAlways, training.RestartOnFailure:
		return replaced
	case training.RestartExitCode:
		if code, known := r.pod.ExitCode(r.replicaType.Container); !known || code >= 128 {
			return replaced
		}
	}
	if r.replicaType.Expendable {
		return stays
	}
	return fatal
}

// failed fails the job if a replica failed permanently. The message names the first such replica type in the kind's order.
func failed(d *draft) bool {
	if d.batchFailed() {
		return true
	}
	var rtype *training.ReplicaType
	count := 0
	for i := range d.replicas {
		r := &d.replicas[i]
		if failureActionOf(r) != fatal {
			continue
		}
		if rtype == nil || rtype == r.replicaType {
			rtype = r.replicaType
			count++
		}
	}
	if rtype == nil {
		return false
	}
	message := fmt.Sprintf("%s %d %s replica(s) failed.", d.Job.Sentences().Failed, count, rtype.Name)
	if rtype.Restart == training.RestartExitCode {
		message = fmt.Sprintf("job %q is failing because %q replica(s) failed.", d.Head.Meta.Name, rtype.Name)
	}
	isFatal := func(r *replica) bool { return failureActionOf(r) == fatal }
	d.failBecauseOf(earlier(d.firstFailure(isFatal), d.firstFailure(d.hasFailedNow)), message)
	return true
}

const (
	// A failed pod is replaced firstPause after its creation at the earliest. The back-off doubles with each consecutive
	// failure, up to lastPause: a replica that always fails immediately costs twelve pods an hour. No state in memory is
	// needed: the pod has its creation time and the number of failures before it.
	firstPause, lastPause = 10 * time.Second, 5 * time.Minute
	// consecutiveEnds: a pod that fails at this age or later resets the back-off, as in the kubelet.
	consecutiveEnds = 2 * lastPause
)

// pauseOf returns the remaining back-off of a failed pod. The API server's clock, which dates the creation of the pod, may
// be ahead of ours: such a pod counts as new, as otherwise it would be replaced without back-off. A creation time far in
// the future causes no back-off.
func (d *draft) pauseOf(pod *training.Pod) time.Duration {
	pause := firstPause
	for before := pod.ConsecutiveFailures; before > 0 && pause < lastPause; before-- {
		pause *= 2
	}
	pause = min(pause, lastPause)
	age := d.Now.Sub(pod.Created)
	if age < -lastPause || age >= pause {
		return 0
	}
	return pause - max(age, 0)
}

// restart deletes the failed pods that are to be replaced, when they are recorded and old enough. It reports whether the
// job is restarting: it is as long as a failed pod exists, terminating or not, so that the condition does not flap.
func (d *draft) restart() bool {
	d.note()
	terminating := false
	var rtype *training.ReplicaType
	for i := range d.replicas {
		r := &d.replicas[i]
		if failureActionOf(r) == replaced {
			if pause := d.pauseOf(r.pod); pause > 0 {
				d.requeue(pause)
			} else if d.onRecord(r) {
				d.deletePod(r.pod)
			}
			if rtype == nil {
				rtype = r.replicaType
			}
		}
		terminating = terminating || r.pod != nil && r.pod.Deleting && r.pod.Phase == corev1.PodFailed
	}
	if rtype != nil {
		d.drop(training.Running)
		isReplaced := func(r *replica) bool { return failureActionOf(r) == replaced }
		d.set(training.Restarting, metav1.ConditionTrue, d.Head.Kind.Reason(training.ReasonRestarting),
			naming(d.firstFailure(isReplaced), d.whyRestarting(rtype)))
	}
	return rtype != nil || terminating && d.status.Is(training.Restarting)
}

// whyRestarting returns the message of the condition Restarting, without the pod that failed first.
func (d *draft) whyRestarting(rtype *training.ReplicaType) string {
	hasFailedItself := func(r replica) bool { return failureActionOf(&r) == replaced && !r.pod.Disrupted }
	if slices.ContainsFunc(d.replicas, hasFailedItself) {
		return fmt.Sprintf("job %s is restarting because %s replica(s) failed.", d.Head.Meta.Name, rtype.Name)
	}
	return fmt.Sprintf("job %s is restarting because %s replica(s) were disrupted.", d.Head.Meta.Name, rtype.Name)
}
