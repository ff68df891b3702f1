package plans

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// lateness is how late an event may be after its timer, or after a start. It includes delays of the machine: such plans run while
// little else does.
const lateness = 2 * time.Second

// clockwork is what a timer triggers in a scenario.
type clockwork struct {
	// due returns when, as soon as that can be known.
	due func(history.View) (time.Time, bool)
	// came returns when it was observed.
	came func([]history.Version) (time.Time, bool)
}

// clocks returns the timers by scenario. The seconds are those of the manifests.
func clocks() map[string]clockwork {
	return map[string]clockwork{
		"deadline": {
			due: func(v history.View) (time.Time, bool) { return after(v.Job, 5*time.Second, "status", "startTime") },
			came: firstly(func(v history.Version) bool {
				return v.Resource.Group == "kubeflow.org" && v.Type != watch.Deleted && state(history.View{Job: v.Object}) == "Failed"
			}),
		},
		"time-to-live": {
			due:  func(v history.View) (time.Time, bool) { return after(v.Job, 2*time.Second, "status", "completionTime") },
			came: firstly(func(v history.Version) bool { return v.Resource.Group == "kubeflow.org" && v.Type == watch.Deleted }),
		},
		"exit-code-retry": {
			due: func(v history.View) (time.Time, bool) {
				pod := v.Pod(v.Name + "-worker-0")
				if pod == nil || history.Phase(pod) != "Failed" {
					return time.Time{}, false
				}
				return pod.GetCreationTimestamp().Add(10 * time.Second), true
			},
			came: secondly("worker-0"),
		},
	}
}

// after returns the time in a field of an object plus a duration.
func after(o *unstructured.Unstructured, d time.Duration, fields ...string) (time.Time, bool) {
	if o == nil {
		return time.Time{}, false
	}
	text, _, _ := unstructured.NestedString(o.Object, fields...)
	at, err := time.Parse(time.RFC3339, text)
	return at.Add(d), err == nil
}

func firstly(is func(history.Version) bool) func([]history.Version) (time.Time, bool) {
	return func(all []history.Version) (time.Time, bool) {
		for _, v := range all {
			if is(v) {
				return v.At, true
			}
		}
		return time.Time{}, false
	}
}

// secondly returns when the second pod of a replica was created.
func secondly(replica string) func([]history.Version) (time.Time, bool) {
	return func(all []history.Version) (time.Time, bool) {
		var first types.UID
		for _, v := range all {
			if v.Resource.Resource != "pods" || !strings.HasSuffix(v.Object.GetName(), "-"+replica) {
				continue
			}
			if first == "" {
				first = v.Object.GetUID()
			} else if v.Object.GetUID() != first {
				return v.At, true
			}
		}
		return time.Time{}, false
	}
}

// timers are G13: events that a timer alone triggers, with an operator that no event wakes, that is restarted shortly before, or
// that is down when it is due. All state is in the API server, so nothing may be lost.
func timers(sc scenario.Scenario, _ reference) (plans []Plan) {
	timer, timed := clocks()[sc.Name]
	if !timed {
		return nil
	}
	for _, operator := range []string{"is up and nothing wakes it", "is restarted a second before", "is restarted at that moment", "is down until two seconds later"} {
		plans = append(plans, Plan{Goal: "G13", Scenario: sc, Fault: "the operator " + operator, hurry: true, more: func(a *Attempt) []oracle.Violation { return a.inTime(timer) },
			came:   func(a *Attempt) bool { return a.noted("due") },
			during: func(ctx context.Context, a *Attempt) { a.fail(a.aroundDue(ctx, timer, operator)) }})
	}
	return plans
}

// aroundDue restarts or stops the operator as the plan says, around the time at which something is due.
func (a *Attempt) aroundDue(ctx context.Context, c clockwork, operator string) error {
	var due time.Time
	known := func() bool {
		var ok bool
		due, ok = c.due(a.Run.View())
		return ok
	}
	if await(ctx, "the time that counts", known) != nil {
		return nil // the run was over before, and its own error says why
	}
	a.remember("due", due)
	switch operator {
	case "is restarted a second before":
		_ = pass(ctx, time.Until(due)-time.Second)
		return a.Sandbox.Restart()
	case "is restarted at that moment":
		_ = pass(ctx, time.Until(due))
		return a.Sandbox.Restart()
	case "is down until two seconds later":
		_ = pass(ctx, time.Until(due)-time.Second)
		a.Sandbox.Kill()
		_ = pass(context.WithoutCancel(ctx), time.Until(due)+2*time.Second)
		a.note("started")
		return a.Sandbox.Start(a.Scenario.Flags)
	}
	return nil
}

func (a *Attempt) remember(what string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes[what] = at
}

// inTime: what was due happened not before its time, and at most lateness after it or after the start.
func (a *Attempt) inTime(c clockwork) []oracle.Violation {
	due, from := a.when("due"), a.when("due")
	if due.IsZero() {
		return []oracle.Violation{{Oracle: "G13", Text: "the time that counts never came"}}
	}
	if started := a.when("started"); started.After(from) {
		from = started
	}
	came, ok := c.came(a.Run.Versions())
	switch {
	case !ok:
		return []oracle.Violation{{Oracle: "G13", Text: "what was due never came"}}
	case came.Before(due.Add(-time.Second)): // times in objects are whole seconds
		return []oracle.Violation{{Oracle: "G13", Text: fmt.Sprintf("came %v too early", due.Sub(came))}}
	case came.After(from.Add(lateness)) && !a.busy:
		return []oracle.Violation{{Oracle: "G13", Text: fmt.Sprintf("came %v late", came.Sub(from))}}
	}
	return nil
}
