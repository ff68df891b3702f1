package plan

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// begin notes that the job was seen, that it goes on after a suspension, and since when it runs: the time
// while suspended does not count towards the deadline.
func begin(d *draft) bool {
	d.create()
	kind, name := d.Head.Kind, d.Head.Meta.Name
	if d.status.Is(schema.Suspended) {
		d.set(schema.Suspended, metav1.ConditionFalse, kind.Reason(schema.ReasonResumed), kind.Name+" "+name+" is resumed.")
		d.status.StartTime = nil
	}
	if d.status.StartTime == nil {
		d.status.StartTime = d.now.DeepCopy()
	}
	// Neither can come from us: there is no verdict, and of these two there is one.
	d.status.CompletionTime = nil
	if d.status.Is(schema.Running) {
		d.drop(schema.Restarting)
	}
	return false
}

// suspended: no pods, whatever they have done so far. The counts of what succeeded and failed stay.
func suspended(d *draft) bool {
	if !d.Job.Policy.Suspend {
		return false
	}
	kind := d.Head.Kind
	reason, message := kind.Reason(schema.ReasonSuspended), kind.Name+" "+d.Head.Meta.Name+" is suspended."
	d.create()
	d.still()
	d.drop(schema.Restarting)
	if d.status.Is(schema.Running) {
		d.set(schema.Running, metav1.ConditionFalse, reason, message)
	}
	d.set(schema.Suspended, metav1.ConditionTrue, reason, message)
	d.status.CompletionTime = nil
	d.clear(func(*schema.Pod) bool { return false })
	return true
}

// expired: the deadline is asked for first, so that it holds also for a job that nothing else happens to.
func expired(d *draft) bool {
	if deadline := d.Job.Policy.Deadline; !deadline.Set || !d.past(*d.status.StartTime, deadline) {
		return false
	}
	d.fail(fmt.Sprintf("Job %s has failed because it was active longer than specified deadline", d.Head.Meta.Name))
	return true
}

// succeeded: see schema.Lead. No replicas, no success. A pod that is being deleted proves nothing: it may
// have been told to stop and have stopped in good order.
func succeeded(d *draft) bool {
	lead := d.Job.Lead
	wanted, done, active, first := 0, 0, 0, false
	for _, r := range d.replicas {
		if r.role.Name != lead.Role {
			continue
		}
		wanted++
		switch {
		case r.pod == nil || r.pod.Deleting:
		case r.pod.Phase == corev1.PodSucceeded:
			done++
			first = first || r.index == 0
		case r.pod.Phase == corev1.PodRunning:
			active++
		}
	}
	yes := false
	switch lead.Rule {
	case schema.LeadAll:
		yes = wanted > 0 && done == wanted
	case schema.LeadFirst:
		yes = first || wanted > 0 && done == wanted
	case schema.LeadAny:
		yes = done > 0 && active == 0
	}
	if yes {
		d.conclude(schema.Succeeded, schema.ReasonSucceeded, d.subject()+" successfully completed.", CountSucceeded)
	}
	return yes
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

// subject is how the sentences about a job begin.
func (d *draft) subject() string {
	return d.Head.Kind.Name + " " + d.Head.Key()
}
