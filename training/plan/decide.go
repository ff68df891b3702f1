package plan

import (
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

// Decide is Make in the types of the engine. Its input contains objects from training/convert and from the slim functions
// of training/operator.
func Decide(o schema.Observed) schema.Plan {
	seen := observed(o)
	p, rule := decide(seen)
	plan := schema.Plan{Rule: rule, Events: p.Events, Delete: p.Delete, Patch: p.Patch, Create: p.Create,
		Pending: p.Pending, Requeue: p.Requeue}
	if p.Status != nil { // a nil pointer in an interface is not nil
		plan.Status = p.Status
		if n := len(p.Status.Conditions); n > 0 {
			plan.Summary = summary(seen.Head.Status.Conditions, p.Status.Conditions[n-1])
		}
	}
	if p.Ledger != nil {
		plan.Annotate = annotate(p.Ledger)
	}
	for _, c := range p.Count {
		plan.Count = append(plan.Count, schema.Count{Counter: string(c.Counter), Code: c.Code, After: stage(c.Counter), Took: c.Took})
	}
	return plan
}

// summary returns the last condition of a new status for the log, or "" if the stored status ends with the same one and
// only counts differ.
func summary(onRecord []training.Condition, last training.Condition) string {
	if n := len(onRecord); n > 0 && onRecord[n-1].Type == last.Type && onRecord[n-1].Status == last.Status && onRecord[n-1].Reason == last.Reason {
		return ""
	}
	return string(last.Type) + " " + last.Reason
}

// observed returns the engine's observation in the types of this package.
func observed(o schema.Observed) Observed {
	head, _ := o.Head.Own.(*training.Head)
	if head == nil { // the converter itself failed on the object, so its kind is not known here: nothing can be said of it
		return Observed{Now: o.Now}
	}
	seen := Observed{Head: head, Now: o.Now, WrittenAt: o.WrittenAt, PendingSince: o.PendingSince, KeepsGeneration: o.KeepsGeneration}
	if len(o.Reads) > 0 {
		seen.Priorities = training.PrioritiesOf(o.Read(training.PriorityClasses()))
	}
	seen.Job, _ = o.Object.(*training.Job)
	if o.Rejection != nil {
		seen.Rejection = &training.Rejection{Head: head, Problems: o.Rejection.Problems, More: o.Rejection.More}
	}
	for _, children := range o.Children {
		if children.Unknown {
			seen.Unavailable = append(seen.Unavailable, training.Unavailable{Resource: children.Resource, Why: children.Why, Absent: children.Absent})
		}
		for i := range children.Items {
			seen.add(children.Resource, &children.Items[i])
		}
	}
	return seen
}

func (o *Observed) add(r schema.Resource, c *schema.Child) {
	switch kept := c.Object.(type) {
	case *training.PodState:
		if c.Through == "" {
			o.Pods = append(o.Pods, training.PodOf(c, kept))
		} else {
			o.BatchPods = append(o.BatchPods, training.PodOf(c, kept))
		}
	case *training.BatchState:
		o.BatchJobs = append(o.BatchJobs, training.BatchJob{Child: *c, BatchState: kept})
	case *training.Ending:
		if r == schema.Services() {
			o.Services = append(o.Services, training.Service{Name: c.Name, UID: c.UID, Deleting: c.Deleting, Ending: kept})
		}
	case *training.DependentState:
		o.Dependents = append(o.Dependents, training.DependentOf(r, c, kept))
	default:
		if r == schema.Services() {
			o.Services = append(o.Services, training.Service{Name: c.Name, UID: c.UID, Deleting: c.Deleting})
		}
	}
}

// annotate returns the write of the ledger. If the API server permanently rejects the record of a terminal condition, the
// pods of the finished job are deleted nevertheless, to free their nodes.
func annotate(ledger *training.Ledger) *schema.Annotate {
	what := "Error recording restarts and successes, so no pod of it is deleted: "
	if ledger.Terminal != "" {
		what = "Error recording the terminal condition beside the status: "
	}
	return &schema.Annotate{Values: map[string]string{training.AnnotationLedger: string(schema.JSON(ledger))}, BestEffort: ledger.Terminal != "",
		Refused: schema.Event{Type: corev1.EventTypeWarning, Reason: training.ReasonDeletePodFailed, Message: what}}
}

// stage returns the stage of a plan after which a counter is incremented.
func stage(c Counter) schema.Stage {
	switch c {
	case CountRestarted:
		return schema.AfterAnnotations
	case CountDeleted:
		return schema.AfterDeletion
	}
	return schema.AfterStatus
}
