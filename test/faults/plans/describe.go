package plans

import (
	"fmt"
	"strings"

	"stoic/test/faults/oracle"
)

// limits returns the limits of an attempt: what the reference needed, what the faults may add, and an allowance for status writes
// that the reference coalesced.
func (a *Attempt) limits() oracle.Limits {
	notice := max(a.Plan.notice, usualNotice)
	if a.busy {
		notice += busyNotice
	}
	return oracle.Limits{Writes: a.Scenario.Operator.Rules.Writes(a.Reference.Writes) + a.Plan.writes, Events: 3*a.Reference.Events + 10, Pods: a.Plan.pods,
		Notice: notice, Edited: a.Plan.edited, Paths: a.Scenario.Paths, Taken: a.taken, Recreated: a.recreated}
}

// describe returns all that is known of a failed attempt: violations, requests, versions, the operator's log.
func describe(a *Attempt, r Result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s in %s, %v, log %s\n\n", r.Plan.Name(), a.Actor.Job, a.Actor.Namespace, r.Took, a.Sandbox.Log())
	for _, v := range r.Violations {
		fmt.Fprintf(&out, "%s: %s\n", v.Oracle, v.Text)
	}
	out.WriteString("\nrequests\n")
	for _, e := range a.Track.Journal() {
		fmt.Fprintf(&out, "  %s %3d %-7s %s/%s %s -> %d %s\n", e.Began.Format(clock), e.Number, e.Verb, e.Resource, e.Subresource, e.Name, e.Code, e.Fault)
		if e.Verb == "patch" || e.Verb == "delete" {
			fmt.Fprintf(&out, "      %s\n", clip(string(e.Request.Body), 600))
		}
	}
	out.WriteString("\nversions\n")
	for _, v := range a.Run.Versions() {
		o := v.Object
		status, _ := o.Object["status"].(map[string]any)
		fmt.Fprintf(&out, "  %s %-8s %s/%s uid %.8s version %s deleting %v finalizers %v phase %v conditions %s\n", v.At.Format(clock), v.Type, o.GetKind(), o.GetName(),
			o.GetUID(), o.GetResourceVersion(), o.GetDeletionTimestamp() != nil, o.GetFinalizers(), status["phase"], clip(fmt.Sprint(status["conditions"]), 300))
		if o.GetKind() == "Event" {
			fmt.Fprintf(&out, "      %v %v: %v\n", o.Object["type"], o.Object["reason"], o.Object["message"])
		}
	}
	return out.String()
}

const clock = "15:04:05.000"

func clip(text string, most int) string {
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
