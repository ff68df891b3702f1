package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// conclude gives the job its verdict. The children are cleaned up in the same pass, behind the status: if
// that cannot be written, nothing is deleted. The TTL is left to a later pass, which finds the verdict on
// record.
func (d *draft) conclude(t schema.ConditionType, reason, message string, counter Counter) {
	d.tally()
	d.still()
	d.stop()
	d.drop(other(t))
	d.set(t, metav1.ConditionTrue, d.Head.Kind.Reason(reason), message)
	d.status.CompletionTime = d.now.DeepCopy()
	d.count(counter)
	d.clean()
	if ttl := d.Job.Policy.TTL; ttl.Set {
		d.recheck(d.until(d.now, ttl))
	}
}

func (d *draft) fail(message string) {
	d.conclude(schema.Failed, schema.ReasonFailed, message, CountFailed)
}

// finished: a verdict is final, whatever becomes of the children, and nothing is created any more. What the
// verdict brings with it is put right in every pass, as earlier operators left some of it out and a status
// can be edited.
func finished(d *draft) bool {
	t := verdict(&d.status)
	if t == "" {
		return false
	}
	d.create()
	d.still()
	d.stop()
	d.drop(other(t))
	if d.status.CompletionTime == nil {
		d.status.CompletionTime = d.status.Condition(t).LastTransitionTime.DeepCopy()
	}
	if !d.expunge() {
		d.clean()
	}
	return true
}

func other(verdict schema.ConditionType) schema.ConditionType {
	if verdict == schema.Succeeded {
		return schema.Failed
	}
	return schema.Succeeded
}

// expunge deletes the job itself when its time is up and returns whether it did. A finished job that is
// suspended is kept.
func (d *draft) expunge() bool {
	ttl := d.Job.Policy.TTL
	if !ttl.Set || d.Job.Policy.Suspend {
		return false
	}
	if !d.past(*d.status.CompletionTime, ttl) {
		d.recheck(d.until(*d.status.CompletionTime, ttl))
		return false
	}
	d.plan.Delete = append(d.plan.Delete, Deletion{d.Head.Kind.Resource(), d.Head.Meta.Namespace, d.Head.Meta.Name, d.Head.Meta.UID})
	d.count(CountDeleted)
	return true
}

// clean deletes what cleanPodPolicy says. It is a state, not an act: it is asked for again in every pass
// until the children match.
//
//	policy    pods                              services
//	None      stay                              stay
//	Running   stay if Succeeded or Failed       stay if their pod does
//	All       go                                go
func (d *draft) clean() {
	switch d.Job.Policy.CleanPods {
	case schema.CleanAll:
		d.clear(func(*schema.Pod) bool { return false })
	case schema.CleanRunning:
		d.clear(func(p *schema.Pod) bool { return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed })
	}
}

// clear deletes all pods but those to keep, and all services but theirs.
func (d *draft) clear(keep func(*schema.Pod) bool) {
	kept := make(map[string]bool)
	for i := range d.Pods {
		p := &d.Pods[i]
		if !p.Deleting && keep(p) {
			kept[p.Name] = true
			continue
		}
		d.deletePod(p)
	}
	for i := range d.Services {
		if s := &d.Services[i]; !kept[s.Name] {
			d.deleteService(s)
		}
	}
}

func (d *draft) deletePod(p *schema.Pod) {
	if !p.Deleting && !d.full(len(d.plan.Delete), 0) {
		d.plan.Delete = append(d.plan.Delete, Deletion{schema.Pods(), d.Head.Meta.Namespace, p.Name, p.UID})
	}
}

func (d *draft) deleteService(s *schema.Service) {
	if !s.Deleting && !d.full(len(d.plan.Delete), 0) {
		d.plan.Delete = append(d.plan.Delete, Deletion{schema.Services(), d.Head.Meta.Namespace, s.Name, s.UID})
	}
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
