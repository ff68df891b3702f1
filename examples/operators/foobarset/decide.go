package foobarset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller"
	"stoic/convert"
	"stoic/schema"
)

const (
	group, label                       = "test.example.com", group + "/operator"
	mostTasks, mostCreated, mostName   = 1000, 100, 48                                  // of a set, as its type says, too; by one plan; bytes of a set's name in that of a task, which has at most 63
	running, complete, failed, invalid = "Running", "Complete", "Failed", "InvalidSpec" // reasons on which something depends; all others say what is being waited for
)

func labelsOfTask(*schema.Head) map[string]string { return map[string]string{label: "foobarset"} }
func labelsOfJob(*schema.Head) map[string]string  { return map[string]string{label: "foobartask"} }

// Watches returns the Watches of FooBarSets and of FooBarTasks. They share no memory: each may run in its own process.
func Watches() []controller.Watch {
	return []controller.Watch{
		controller.Typed(sets(), decideSet, []*controller.Owned{{Resource: tasks(), Selector: label + "=foobarset", Labels: labelsOfTask, Relabel: true,
			Slim: slimTask, Reasons: controller.ReasonsOf("Task")}}, convert.Default((*FooBarSet).fill)),
		controller.Typed(tasks(), decideTask, []*controller.Owned{{Resource: schema.Jobs(), Selector: label + "=foobartask", Labels: labelsOfJob, Relabel: true,
			Slim: slimJob, Reasons: controller.ReasonsOf("Job")}}, convert.Default((*FooBarTask).fill), convert.MaxName(63, "the Job has the same name")),
	}
}

// child is what the caches keep of a task or of a Job: whether its spec was edited, and its state.
type child struct {
	edited          bool
	reason, message string
}

func slimTask(task *unstructured.Unstructured) any {
	c := convert.ConditionOf(task, "Ready")
	return child{task.GetGeneration() > 1, c.Reason, schema.Cut(c.Message, 200)}
}

func slimJob(job *unstructured.Unstructured) any {
	end := convert.FirstTrue(job, failed, complete)
	return child{reason: cmp.Or(end.Type, running), message: end.Reason}
}

// decideSet returns what to write for one FooBarSet. If its spec is malformed, set is nil: the tasks stay, and are counted.
func decideSet(set *FooBarSet, o controller.Observed) (plan controller.Plan) {
	status, _ := o.Head.Status.(*FooBarSetStatus)
	here, next := o.Staying(tasks()), &FooBarSetStatus{ObservedGeneration: o.Head.Meta.Generation}
	if o.Head.Meta.DeletionTimestamp != nil {
		return controller.Plan{Rule: "Deleted"} // garbage collection takes the tasks, and with them their Jobs
	}
	if plan.Rule = invalid; set != nil {
		apply(set, o, here, &plan)
	}
	reason, message := plan.Rule, next.count(here)
	switch refused := o.RefusalOf(plan.Create); {
	case set == nil:
		plan.Events, message = schema.Reject(o, status.Conditions, "Stalled", "the tasks stay as they are")
	case next.Failed > 0:
		reason = failed
	case refused != nil: // for NameTaken, if it is somebody else's
		reason, message = string(refused.Cause), message+"; FooBarTask "+refused.Name+" is not created: "+refused.Message
	case reason == running && next.Succeeded == next.Tasks:
		reason = complete
	}
	next.Conditions = conditions(o, status.Conditions, plan.Rule == running, reason, message)
	plan.Status, plan.Summary = next, reason
	return plan
}

// apply plans which tasks are created, and which surplus ones are deleted. It reduces here to the tasks that the spec wants.
func apply(set *FooBarSet, o controller.Observed, here map[string]schema.Child, plan *controller.Plan) {
	others, missing := maps.Clone(here), 0
	clear(here)
	for i := range min(*set.Spec.Count, mostTasks) {
		name := fmt.Sprintf("%s-%s-%d", schema.ShortName(set.Name, mostName), schema.Hash(set.Spec.Template), i)
		c, is := others[name]
		if delete(others, name); is && !c.Object.(child).edited {
			here[name] = c
			continue
		}
		if missing++; is { // a new one is created after the deletion
			plan.Delete = append(plan.Delete, c.Deletion(tasks()))
		} else if len(plan.Create) < mostCreated && o.Child(tasks(), set.Namespace, name) == nil { // more follow when these are seen
			plan.Create = append(plan.Create, schema.NewChild(o.Head, tasks(), o.Head.Meta.Namespace, name, labelsOfTask(o.Head), "", map[string]any{"spec": set.Spec.Template}))
		}
	}
	surplus := slices.Sorted(maps.Keys(others)) // of a former template, or of numbers that are too high
	for _, name := range surplus[:max(len(surplus)-missing, 0)] {
		plan.Delete = append(plan.Delete, others[name].Deletion(tasks()))
	}
	if plan.Rule = running; missing+len(surplus) > 0 {
		plan.Rule = "Progressing"
	}
}

// count counts the states of tasks, and returns a message with the counts and the first task that has failed, or waits.
func (s *FooBarSetStatus) count(all map[string]schema.Child) string {
	fails, waits := "", ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch t := all[name].Object.(child); t.reason {
		case complete:
			s.Succeeded++
		case running:
			s.Active++
		case failed, invalid:
			s.Failed, fails = s.Failed+1, cmp.Or(fails, "; delete "+name+" to run it again: "+t.message)
		default:
			waits = cmp.Or(waits, "; "+name+" waits: "+cmp.Or(t.message, t.reason, "it is new"))
		}
	}
	s.Tasks = int32(len(all))
	return fmt.Sprintf("tasks: %d, running: %d, succeeded: %d, failed: %d%s", s.Tasks, s.Active, s.Succeeded, s.Failed, cmp.Or(fails, waits))
}

// decideTask returns what to write for one FooBarTask. If its spec is malformed, task is nil and its Job stays as it is.
func decideTask(task *FooBarTask, o controller.Observed) (plan controller.Plan) {
	status, _ := o.Head.Status.(*FooBarTaskStatus)
	before := cmp.Or(schema.Condition(status.Conditions, "Ready"), &metav1.Condition{}).Reason
	job, message := o.Child(schema.Jobs(), o.Head.Meta.Namespace, o.Head.Meta.Name), ""
	switch {
	case o.Head.Meta.DeletionTimestamp != nil:
		return controller.Plan{Rule: "Deleted"} // garbage collection takes the Job
	case task == nil:
		plan.Rule = invalid
		plan.Events, message = schema.Reject(o, status.Conditions, "Stalled", "the Job stays as it is")
	case job != nil:
		plan.Rule, message = job.Object.(child).reason, job.Object.(child).message
	case before == complete || before == failed:
		return controller.Plan{Rule: "Over"} // the deletion of the Job of a finished task does not start another run
	default:
		pod := map[string]any{"restartPolicy": "Never", "containers": []any{map[string]any{"name": "task", "image": task.Spec.Image, "command": task.Spec.Command}}}
		plan.Rule, plan.Create = "Creating", []schema.Object{schema.NewChild(o.Head, schema.Jobs(), o.Head.Meta.Namespace, task.Name, labelsOfJob(o.Head), "", map[string]any{
			"spec": map[string]any{"backoffLimit": task.Spec.BackoffLimit, "template": map[string]any{"spec": pod}}})}
		if refused := o.RefusalOf(plan.Create); refused != nil { // for NameTaken, if it is somebody else's
			plan.Rule, message = string(refused.Cause), refused.Message
		}
	}
	next := &FooBarTaskStatus{ObservedGeneration: o.Head.Meta.Generation, Conditions: conditions(o, status.Conditions, job != nil && task != nil, plan.Rule, message)}
	plan.Status, plan.Summary = next, plan.Rule
	return plan
}

func conditions(o controller.Observed, before []metav1.Condition, ready bool, reason, message string) []metav1.Condition {
	return schema.Conditions(before, o.Head.Meta.Generation, o.Now, schema.When(ready, "Ready", reason, reason, message),
		schema.When(reason == complete, "Complete", reason, reason, message), schema.When(reason == failed || reason == invalid, "Stalled", reason, reason, message))
}
