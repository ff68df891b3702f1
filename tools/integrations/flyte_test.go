package integrations

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// flyteGrace is how long Flyte accepts a job without startTime.
const flyteGrace = time.Minute

// flytePhase returns the phase that the Kubeflow plugins of Flyte compute for a job at a given time. No startTime after a minute is an
// error. Else the conditions are sorted by lastTransitionTime, newest first, and the first one that is True is the phase. A type unknown
// to Flyte is an error.
func flytePhase(s stored, at time.Time) string {
	created, err := time.Parse(time.RFC3339, textAt(mapAt(s.object, "metadata"), "creationTimestamp"))
	if err != nil {
		return sprint(err)
	}
	if s.status()["startTime"] == nil && created.Add(flyteGrace).Before(at) {
		return "error: no startTime"
	}
	conditions := s.conditions()
	slices.SortStableFunc(conditions, func(a, b condition) int { return strings.Compare(b.LastTransitionTime, a.LastTransitionTime) })
	for _, c := range conditions {
		if c.Status != "True" {
			continue
		}
		phase, known := map[string]string{"Created": "queued", "Running": "running", "Restarting": "running", "Succeeded": "success", "Failed": "failure"}[c.Type]
		if !known {
			return "error: undefined phase of " + c.Type
		}
		return phase
	}
	if len(conditions) > 0 {
		return "error: no condition is True"
	}
	return "queued"
}

// soon returns when Flyte reads the job: a few seconds after its creation, for a job that has not been reconciled since.
func soon(s stored) time.Time {
	created, _ := time.Parse(time.RFC3339, textAt(mapAt(s.object, "metadata"), "creationTimestamp"))
	return created.Add(10 * time.Second)
}

// TestFlytePhase: Flyte has no phase for Suspended, also with training-operator 1.9. Flyte itself never suspends a job, and if another
// client does, the task fails. A job that was created suspended has Created from the same second, which sorts first.
func TestFlytePhase(t *testing.T) {
	rule := func(s stored) string { return flytePhase(s, soon(s)) }
	hold(t, map[string]string{
		"new": "queued", "created": "queued", "running": "running", "restarting": "running", "running-again": "running",
		"suspended": "queued", "suspended-while-running": "error: undefined phase of Suspended", "resumed": "running",
		"succeeded": "success", "failed": "failure", "unobserved": "running", "rejected": "failure", "repaired": "running",
		"rejected-edit-suspended": "queued", "rejected-edit": "running", "repaired-edit": "running", "rejected-edit-succeeded": "success", "deleted": "running",
	}, rule)
	for _, state := range []string{"rejected", "rejected-edit", "rejected-edit-succeeded"} {
		for _, s := range jobsIn(t, state) {
			newest := s.conditions()[len(s.conditions())-1].LastTransitionTime
			mustDiffer(t, rule, s, s.withCondition(t, "Stalled", func(c map[string]any) { c["lastTransitionTime"] = newest }))
		}
	}
}

// TestFlyteStartTime: each job that runs has a startTime. A rejected job has none, and is an error in Flyte after a minute; by then its
// task has failed.
func TestFlyteStartTime(t *testing.T) {
	for _, s := range jobs(t) {
		late := flytePhase(s, soon(s).Add(time.Hour))
		without := slices.Contains([]string{"new", "suspended", "rejected", "rejected-edit-suspended"}, s.state)
		if (late == "error: no startTime") != without {
			t.Errorf("%s, an hour later: %s", s, late)
		}
	}
}

// TestFlyteTerminal: Flyte considers a job with a condition Succeeded or Failed, of whatever status, finished.
func TestFlyteTerminal(t *testing.T) {
	over := func(s stored) string {
		for _, c := range s.conditions() {
			if c.Type == "Succeeded" || c.Type == "Failed" {
				return "over"
			}
		}
		return "goes on"
	}
	want := map[string]string{"succeeded": "over", "failed": "over", "rejected": "over", "rejected-edit-succeeded": "over"}
	for _, state := range []string{"new", "created", "running", "restarting", "running-again", "suspended", "suspended-while-running", "resumed", "unobserved",
		"repaired", "rejected-edit-suspended", "rejected-edit", "repaired-edit", "deleted"} {
		want[state] = "goes on"
	}
	hold(t, want, over)
	for _, s := range jobsIn(t, "repaired") { // as it would be, had the rejection left a Failed that is False
		mustDiffer(t, over, s, s.withCondition(t, "Created", func(c map[string]any) { c["type"], c["status"] = "Failed", "False" }))
	}
}
