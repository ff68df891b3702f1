package plans

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// ends are G14: when a job has its verdict, somebody deletes all that is left of it and edits its status, and the
// operator is restarted. Nothing is created, and the verdict stays.
func ends(sc scenario.Scenario, ref reference) (plans []Plan) {
	if !ref.finished() {
		return nil
	}
	for _, name := range append(sortedNames(statuses()), "") {
		for _, restarts := range []int{0, 1, 3} {
			fault := fmt.Sprintf("children deleted, %d restarts", restarts)
			if name != "" {
				fault += ", status: " + name
			}
			plans = append(plans, Plan{Goal: "G14", Scenario: sc, Fault: fault, came: struck, edited: true, writes: 30,
				spared:     map[string]string{"O1": "the children were deleted", "O2": "the children were deleted"},
				afterwards: func(ctx context.Context, a *Attempt) error { return a.disturbTheDead(ctx, name, restarts) },
				more:       staysDead})
		}
	}
	return plans
}

func (a *Attempt) disturbTheDead(ctx context.Context, status string, restarts int) error {
	a.note("over")
	for _, resource := range []string{"pods", "services"} {
		err := a.Actor.Client.Resource(core(resource)).Namespace(a.Actor.Namespace).
			DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "training.kubeflow.org/job-name=" + a.Actor.Job})
		if err != nil {
			return fmt.Errorf("delete the %s of a finished job: %w", resource, err)
		}
	}
	// What proves the verdict is gone now. Its author may take the status, too, but not in the same moment.
	if err := pass(ctx, past); err != nil {
		return err
	}
	if status != "" {
		job := a.Life.View().Job
		if job == nil {
			return nil // its time to live is over
		}
		c := change{status: true}
		if _, err := a.patch(ctx, c, job, map[string]any{"status": statuses()[status]}); err != nil {
			return err
		}
	}
	a.struck = true
	for range restarts {
		if err := a.Cell.Restart(); err != nil {
			return err
		}
		if err := pass(ctx, past/3); err != nil {
			return err
		}
	}
	return pass(ctx, past)
}

// staysDead: nothing was created after the end, and the job still has the verdict of the reference.
func staysDead(a *Attempt) (found []oracle.Violation) {
	over := a.when("over")
	for _, e := range a.Track.Journal() {
		if e.Verb == "create" && e.Resource != "events" && e.Began.After(over.Add(time.Second/10)) {
			found = append(found, oracle.Violation{Oracle: "G14", Text: fmt.Sprintf("creates %s %s after the end", e.Resource, e.Name)})
		}
	}
	if job := a.Life.View().Job; job != nil {
		if is := state(a.Life.View()); is != a.Reference.state {
			found = append(found, oracle.Violation{Oracle: "G14", Text: fmt.Sprintf("the job is %q, was %q", is, a.Reference.state)})
		}
	}
	return found
}
