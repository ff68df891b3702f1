package crontab

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/controller"
	"stoic/controller/schedule"
	"stoic/convert"
	"stoic/schema"
)

const group, label = "stable.example.com", "stable.example.com/crontab" // the label is on Jobs and pods, with the CronTab's name

func labels(h *schema.Head) map[string]string {
	return map[string]string{label: h.Meta.Name[:min(len(h.Meta.Name), nameLimit)]} // one with a longer name is rejected
}

// Watches returns the Watch of CronTabs.
func Watches() []controller.Watch {
	owns := []*controller.Owned{{Resource: schema.Jobs(), Selector: label, Labels: labels, Relabel: true, Slim: controller.SlimJob, Reasons: controller.KubernetesReasons()}}
	return []controller.Watch{controller.Typed(schema.Resource{Group: group, Version: "v1", Plural: "crontabs", Kind: "CronTab"}, decide, owns, convert.Default(fill), convert.Validate(validate)).InVersions(Versions())}
}

// run is one run, with its time and its Job.
type run struct {
	schedule.Timed
	controller.Job
}

// held reports whether the run has no pods yet.
func (r *run) held() bool { return r.Result == "" && r.Parallelism <= 0 && r.Completions > 0 }

// turn holds the state of one decision.
type turn struct {
	controller.Observed
	plan                  controller.Plan
	status                *CronTabStatus
	ready                 metav1.Condition
	waiting, active, over []run // in the order of their times: held and not recorded; not over; over
}

// decide returns what to write for one CronTab; c is nil if it is malformed. A run takes three writes, one after the other:
//
//	a Job of parallelism 0            it has no pods: if it is deleted and created again, nothing has run
//	its UID and time in the status    only one of two leaders can write this; no other Job of that time is ever started
//	its parallelism                   it runs
func decide(c *CronTab, o controller.Observed) controller.Plan {
	if o.Head.Meta.DeletionTimestamp != nil {
		return controller.Plan{Rule: "BeingDeleted"} // garbage collection deletes the Jobs
	}
	was, _ := o.Head.Status.(*CronTabStatus)
	next := &CronTabStatus{LastScheduleTime: was.LastScheduleTime, Selector: label + "=" + labels(o.Head)[label], ObservedGeneration: o.Head.Meta.Generation}
	ready, stalled, events := schema.Validity(o, was.Conditions, "no run is started")
	t := &turn{Observed: o, plan: controller.Plan{Rule: "Rejected", Events: events}, status: next, ready: ready}
	if !was.LastSuccessfulTime.After(o.Now) { // otherwise another client wrote it
		next.LastSuccessfulTime = was.LastSuccessfulTime
	}
	for _, timed := range schedule.Children(o.Head.Meta.Name, o.Of(schema.Jobs())) {
		job, _ := timed.Object.(controller.Job)
		switch r := (run{timed, job}); {
		case r.held() && !slices.Contains(was.Active, Run{r.Name, r.UID}):
			t.waiting = append(t.waiting, r)
			continue
		case r.Result == "":
			t.active = append(t.active, r)
		default:
			if t.over = append(t.over, r); r.Result == "Complete" {
				next.LastSuccessfulTime.Time = schedule.Later(next.LastSuccessfulTime.Time, time.Unix(r.Ended, 0))
			}
		}
		next.LastScheduleTime.Time = schedule.Later(next.LastScheduleTime.Time, timed.At)
	}
	if c != nil {
		t.run(&c.Spec)
		left := map[string]int32{"Complete": *c.Spec.SuccessfulJobsHistoryLimit, "Failed": *c.Spec.FailedJobsHistoryLimit}
		for _, r := range slices.Backward(t.over) { // the status with their results is written before the deletion
			if left[r.Result]--; left[r.Result] < 0 {
				t.plan.DeleteChild(schema.Jobs(), &r.Child)
			}
		}
	}
	for i, r := range t.active {
		if next.Replicas = int32(min(int64(next.Replicas)+r.Completions, 1<<31-1)); i >= len(t.active)-100 { // the latest
			next.Active = append(next.Active, Run{r.Name, r.UID})
		}
		if r.held() && !r.Deleting && t.plan.Rule != "Replace" { // it is recorded, at the latest by this plan's status
			t.plan.Patch = append(t.plan.Patch, r.Patch(schema.Jobs(), map[string]any{"spec": map[string]any{"parallelism": r.Completions}}))
		}
	}
	next.Conditions = schema.Conditions(was.Conditions, o.Head.Meta.Generation, o.Now, t.ready, stalled)
	t.plan.Status, t.plan.Summary = next, t.plan.Rule+" "+t.ready.Reason
	return t.plan
}

// run plans the next run, if one is due.
func (t *turn) run(spec *CronTabSpec) {
	s, _ := spec.schedule() // it is well-formed
	last := cmp.Or(t.status.LastScheduleTime.Time, t.Head.Meta.CreationTimestamp.Time)
	runs, ours := s.Runs(last, t.Now, spec.StartingDeadlineSeconds), (*run)(nil) // ours: the one that is started next
	for _, w := range t.waiting {
		if spec.Suspend || !w.At.After(runs.From) || !s.Is(w.At) {
			t.plan.DeleteChild(schema.Jobs(), &w.Child)
		} else if ours == nil && !w.At.After(t.Now) {
			runs.Due, ours = w.At, &w
		}
	}
	if t.plan.Rule = "Suspend"; spec.Suspend {
		t.ready.Reason, t.ready.Message = "Suspended", "no run is started while spec.suspend is true"
		return
	}
	t.ready.Reason, t.ready.Message, t.plan.Events = "Scheduled", "runs are started by the schedule", runs.Missed()
	if last.Sub(t.Now) > time.Minute {
		t.ready.Status, t.ready.Reason, t.ready.Message = metav1.ConditionFalse, "LastRunInFuture", "status.lastScheduleTime, or the time in a Job's name, is to come: no run is started before. Take it away if it is wrong."
	}
	if i := slices.IndexFunc(t.Refused, func(r schema.Refusal) bool { return schedule.TimeOf(t.Head.Meta.Name, r.Name).After(last) }); i >= 0 {
		t.ready.Status, t.ready.Reason, t.ready.Message = metav1.ConditionFalse, "Refused", t.Refused[i].Message
	}
	switch {
	case runs.Due.IsZero():
		t.plan.Rule = "Wait"
	case spec.ConcurrencyPolicy == "Forbid" && len(t.active) > 0:
		t.plan.Rule, t.ready.Reason, t.ready.Message = "Forbid", "Waiting", "a run is due, and waits for the end of the one before"
		t.plan.Events = append(t.plan.Events, schema.Event{Type: "Normal", Reason: "JobAlreadyActive", Message: "the run of " + schedule.Text(runs.Next) + " waits", Occasion: schedule.Text(last), Key: "Waiting", Since: t.Now})
	case spec.ConcurrencyPolicy == "Replace" && slices.ContainsFunc(t.active, func(r run) bool { return !r.Deleting }):
		t.plan.Rule = "Replace"
		for _, r := range t.active {
			t.plan.DeleteChild(schema.Jobs(), &r.Child)
		}
	case ours == nil:
		t.plan.Rule, t.plan.Create = "Create", []schema.Object{jobOf(spec, t.Head, runs.Due)}
	case ours.Deleting:
		t.plan.Rule = "AwaitDeletion"
	default:
		t.plan.Rule, t.active, t.status.LastScheduleTime.Time, runs.Next = "Start", append(t.active, *ours), ours.At, s.Next(ours.At)
	}
	t.status.NextScheduleTime.Time, t.plan.Requeue = runs.Next, max(runs.Next.Sub(t.Now), 0)
}

// jobOf returns the Job of a run, with parallelism 0.
func jobOf(spec *CronTabSpec, owner *schema.Head, at time.Time) schema.Object {
	pod := map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "run", "image": spec.Image, "command": spec.Command}}}
	return schema.NewChild(owner, schema.Jobs(), owner.Meta.Namespace, schedule.Name(owner.Meta.Name, at), labels(owner), "", map[string]any{"spec": map[string]any{
		"parallelism": 0, "completions": *spec.Replicas, "template": map[string]any{"metadata": map[string]any{"labels": labels(owner)}, "spec": pod}}})
}
