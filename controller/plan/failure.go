package plan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// fate is what becomes of a replica whose pod has failed.
type fate int

const (
	stays    fate = iota // nothing is to be done
	replaced             // the pod is deleted and, when its name is free, created again
	fatal                // the job fails
)

// fateOf a pod, see also schema.RestartPolicy. A pod that is being deleted has no fate: it is waited for. A
// pod that ran when it was deleted, or vanished, has not failed; it is merely missing.
//
//	role's policy      exit code            fate       of an expendable role
//	Always, OnFailure  any                  replaced   replaced
//	Never              any                  fatal      stays
//	ExitCode           up to 127            fatal      stays
//	ExitCode           from 128 or unknown  replaced   replaced
func fateOf(r *replica, container string) fate {
	if r.pod == nil || r.pod.Deleting || r.pod.Phase != corev1.PodFailed {
		return stays
	}
	switch r.role.Restart {
	case schema.RestartAlways, schema.RestartOnFailure:
		return replaced
	case schema.RestartExitCode:
		if code, known := r.pod.ExitCode(container); !known || code >= 128 {
			return replaced
		}
	}
	if r.role.Expendable {
		return stays
	}
	return fatal
}

// failed: some replica failed for good. The first role in the kind's order is named.
func failed(d *draft) bool {
	var role *schema.Role
	count := 0
	for i := range d.replicas {
		r := &d.replicas[i]
		if (role == nil || role == r.role) && fateOf(r, d.Head.Kind.Container) == fatal {
			role = r.role
			count++
		}
	}
	if role == nil {
		return false
	}
	message := fmt.Sprintf("%s has failed because %d %s replica(s) failed.", d.subject(), count, role.Name)
	if role.Restart == schema.RestartExitCode {
		message = fmt.Sprintf("job %q is failing because %q replica(s) failed.", d.Head.Meta.Name, role.Name)
	}
	d.fail(message)
	return true
}

const (
	// A replica's pod stands at least for firstPause before it is replaced, and for twice as long with each one that
	// failed before it, up to lastPause: a replica that always fails at once asks for a pod twelve times an hour and
	// not as fast as the cluster can. It needs no memory: the pod knows how old it is and how many were before it.
	firstPause, lastPause = 10 * time.Second, 5 * time.Minute
	// rowEnds: a pod that failed after such a time is the first of a new row, as it is for kubelets.
	rowEnds = 2 * lastPause
)

// pauseOf is how long a failed pod is still left to stand. One from the future, by the clock that made it, is not
// waited for.
func (d *draft) pauseOf(pod *schema.Pod) time.Duration {
	pause := firstPause
	for before := pod.Row; before > 0 && pause < lastPause; before-- {
		pause *= 2
	}
	pause = min(pause, lastPause)
	age := d.Now.Sub(pod.Created)
	if age < 0 || age >= pause {
		return 0
	}
	return pause - age
}

// restart deletes the failed pods that are to be replaced, when they are on record and old enough, and returns whether
// the job is restarting: while a failed pod is there, terminating or not, Running and Restarting do not take turns.
func (d *draft) restart() bool {
	d.note()
	terminating := false
	var role *schema.Role
	for i := range d.replicas {
		r := &d.replicas[i]
		if fateOf(r, d.Head.Kind.Container) == replaced {
			if pause := d.pauseOf(r.pod); pause > 0 {
				d.recheck(pause)
			} else if d.onRecord(r) {
				d.deletePod(r.pod)
			}
			if role == nil {
				role = r.role
			}
		}
		terminating = terminating || r.pod != nil && r.pod.Deleting && r.pod.Phase == corev1.PodFailed
	}
	if role != nil {
		d.drop(schema.Running)
		d.set(schema.Restarting, metav1.ConditionTrue, d.Head.Kind.Reason(schema.ReasonRestarting),
			fmt.Sprintf("job %s is restarting because %s replica(s) failed.", d.Head.Meta.Name, role.Name))
	}
	return role != nil || terminating && d.status.Is(schema.Restarting)
}
