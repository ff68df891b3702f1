package plans

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// ends are G14: when an object has settled, another client deletes its dependents and edits its status, and the operator is
// restarted. For a job nothing is created, and its terminal condition stays. Other operators recreate what was deleted, once, and
// the end state is the same again.
func ends(sc scenario.Scenario, ref reference) (plans []Plan) {
	if !ref.settled {
		return nil
	}
	for _, name := range append(sortedNames(sc.Operator.Statuses), "") {
		for _, restarts := range []int{0, 1, 3} {
			fault := fmt.Sprintf("children deleted, %d restarts", restarts)
			if name != "" {
				fault += ", status: " + name
			}
			p := Plan{Goal: "G14", Scenario: sc, Fault: fault, came: struck, edited: true, writes: 30,
				afterwards: func(ctx context.Context, a *Attempt) error { return a.disturbTheDead(ctx, name, restarts) }}
			if !ref.restores {
				p.spared = map[string]string{"O1": "the children were deleted", "O2": "the children were deleted"}
				p.more = staysDead
			}
			plans = append(plans, p)
		}
	}
	return plans
}

func (a *Attempt) disturbTheDead(ctx context.Context, status string, restarts int) error {
	a.note("over")
	if err := a.takeChildren(ctx); err != nil {
		return err
	}
	// The proof of the terminal condition no longer exists. The user may wipe the status, too, but not in the same moment.
	if err := pass(ctx, past); err != nil {
		return err
	}
	if status != "" {
		job := a.Run.View().Job
		if job == nil {
			return nil // staysDead reports it
		}
		c := change{status: true}
		if _, err := a.patch(ctx, c, job, map[string]any{"status": a.Scenario.Operator.Statuses[status]}); err != nil {
			return err
		}
	}
	a.struck = true
	for range restarts {
		if err := a.Sandbox.Restart(); err != nil {
			return err
		}
		if err := pass(ctx, past/3); err != nil {
			return err
		}
	}
	return pass(ctx, past)
}

// takeChildren deletes the object's dependents of the resources that its operator creates.
func (a *Attempt) takeChildren(ctx context.Context) error {
	o, v := a.Scenario.Operator, a.Run.View()
	for _, u := range o.Own(v.Children()) {
		resource := a.Run.ResourceOf(u.GetUID())
		if a.Reference.restores { // including what others have created for it, such as the pods of a Deployment
			a.took(resource.Resource, v.Mask(oracle.NameOf(v.Subject, u)))
		}
		if !slices.Contains(dependentsOf(o), resource) {
			continue
		}
		uid, background := u.GetUID(), metav1.DeletePropagationBackground // as kubectl deletes
		err := a.Actor.Client.Resource(resource).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the %s of an object that has settled: %w", resource.Resource, err)
		}
	}
	return nil
}

// took records an object that others have deleted and the operator recreates.
func (a *Attempt) took(resource, name string) {
	if a.taken == nil {
		a.taken = map[string]map[string]int{}
	}
	if a.taken[resource] == nil {
		a.taken[resource] = map[string]int{}
	}
	a.taken[resource][name]++
}

// staysDead: nothing was created after the end, and the job still exists, with the terminal condition of the reference. Such
// plans are made only for jobs that exist at the end of their reference.
func staysDead(a *Attempt) (found []oracle.Violation) {
	over := a.when("over")
	for _, e := range a.Track.Journal() {
		if e.Verb == "create" && e.Resource != "events" && e.Began.After(over.Add(time.Second/10)) {
			found = append(found, oracle.Violation{Oracle: "G14", Text: fmt.Sprintf("creates %s %s after the end", e.Resource, e.Name)})
		}
	}
	if view := a.Run.View(); view.Job == nil {
		found = append(found, oracle.Violation{Oracle: "G14", Text: "the job is gone"})
	} else if is := state(view); is != a.Reference.state {
		found = append(found, oracle.Violation{Oracle: "G14", Text: fmt.Sprintf("the job is %q, was %q", is, a.Reference.state)})
	}
	return found
}
