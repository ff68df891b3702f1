package cases

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

// past is how long an operator stays in the past, or blind: time in which it could do something wrong.
const past = 1500 * time.Millisecond

// later does a part of a fault after a time. The run waits for it.
func (a *Attempt) later(d time.Duration, do func()) {
	a.pending.Add(1)
	time.AfterFunc(d, func() {
		defer a.pending.Done()
		do()
	})
}

func travelToVersion(ctx context.Context, a *Attempt, p point) error {
	return a.travel(ctx, p.k-1)
}

func travelBy(percent int) func(context.Context, *Attempt, point) error {
	return func(ctx context.Context, a *Attempt, _ point) error {
		return a.travel(ctx, percent*len(a.run.Versions())/100)
	}
}

// travel restarts the operator in the past of its own run and then returns it to the present.
func (a *Attempt) travel(ctx context.Context, version int) error {
	versions := a.run.Versions()
	if version >= len(versions) {
		return nil // this run has fewer versions than the reference
	}
	streams := a.sandbox.Proxy.Streams()
	a.sandbox.Kill()
	streams.AsOf(versions[version].Object.GetResourceVersion())
	defer streams.Present()
	if err := a.sandbox.Start(a.Scenario.Flags); err != nil {
		return err
	}
	a.struck = true
	if _, err := operator.Until(ctx, "the operator to watch in the past", func() (bool, string) {
		return streams.Open(a.Scenario.Resource.Resource) > 0 && streams.Open(a.Scenario.Operator.Dependents[0].Resource) > 0, "no watches"
	}); err != nil {
		return err
	}
	return pass(ctx, past)
}

// beDown stops the operator for longer than any timer of the scenarios runs.
func beDown(ctx context.Context, a *Attempt, _ point) error {
	a.sandbox.Kill()
	a.struck = true
	if err := pass(ctx, 12*time.Second); err != nil {
		return err
	}
	return a.sandbox.Start(a.Scenario.Flags)
}

// createsNothingTwice: while the operator was blind it created nothing that existed already, except what it never observes.
func createsNothingTwice(a *Attempt) (found []oracle.Violation) {
	for _, e := range a.track.Journal() {
		isUnwatched := slices.ContainsFunc(a.Scenario.Operator.Unwatched, func(r groupVersionResource) bool { return r.Resource == e.Resource })
		if e.Verb == "create" && e.Resource != "events" && e.Code == http.StatusConflict && e.Fault == "" && !isUnwatched && a.wasMadeBefore(e) {
			found = append(found, oracle.Violation{Oracle: "O2", Text: fmt.Sprintf("write %d creates %s %s, which exists", e.Number, e.Resource, e.Name)})
		}
	}
	return found
}

// wasMadeBefore reports whether the object that the request would create existed and belonged to the same job.
func (a *Attempt) wasMadeBefore(e proxy.Entry) bool {
	wasMade := false
	for _, v := range a.run.Versions() {
		if v.Object.GetName() == e.Name && v.Object.GetNamespace() == e.Namespace && v.Resource.Resource == e.Resource && v.At.Before(e.Began) {
			owner := string(a.Scenario.Operator.Rules.Owner(v.Object))
			wasMade = v.Type != watch.Deleted && owner != "" && strings.Contains(string(e.Request.Body), owner)
		}
	}
	return wasMade
}

// disturb deletes the dependents of a job that is over, edits its status, and restarts the operator.
func disturb(status string, restarts int) func(context.Context, *Attempt, point) error {
	return func(ctx context.Context, a *Attempt, _ point) error {
		a.over = time.Now()
		if err := a.deleteChildren(ctx); err != nil {
			return err
		}
		// The proof of the terminal condition no longer exists. The user may wipe the status, too, but not in the same moment.
		if err := pass(ctx, past); err != nil {
			return err
		}
		job := a.run.View().Job
		if status != "" && job != nil { // staysOver reports a job that is gone
			if _, err := a.patch(ctx, job, map[string]any{"status": a.Scenario.Operator.Statuses[status]}, "status"); err != nil {
				return err
			}
		}
		a.struck = true
		for range restarts {
			if err := a.sandbox.Restart(); err != nil {
				return err
			}
			if err := pass(ctx, past/3); err != nil {
				return err
			}
		}
		return pass(ctx, past)
	}
}

// deleteChildren deletes the object's dependents of the resources that its operator creates, as kubectl does.
func (a *Attempt) deleteChildren(ctx context.Context) error {
	for _, u := range a.run.View().Children() {
		resource := a.run.ResourceOf(u.GetUID())
		if !slices.Contains(a.Scenario.Operator.AllDependents(), resource) {
			continue
		}
		uid := u.GetUID()
		background := metav1.DeletePropagationBackground
		options := metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &uid}}
		err := a.actor.Client.Resource(resource).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete the %s of a job that is over: %w", resource.Resource, err)
		}
	}
	return nil
}

// staysOver: nothing was created after the end, and the job still exists, with the terminal condition of the reference. Such
// cases are made only for jobs that exist at the end of their reference.
func staysOver(a *Attempt) (found []oracle.Violation) {
	for _, e := range a.track.Journal() {
		if e.Verb == "create" && e.Resource != "events" && e.Began.After(a.over.Add(time.Second/10)) {
			found = append(found, oracle.Violation{Oracle: "G14", Text: fmt.Sprintf("creates %s %s after the end", e.Resource, e.Name)})
		}
	}
	if state := history.State(a.run.View().Job).Type; state != a.reference.state {
		found = append(found, oracle.Violation{Oracle: "G14", Text: fmt.Sprintf("the job is %q, was %q", state, a.reference.state)})
	}
	return found
}

func spoilsLater(steps []scenario.Step) bool {
	return slices.ContainsFunc(steps, func(s scenario.Step) bool { return s.Spoils })
}

// deleteJob deletes the job, with the operator up, restarted at once, or down until nothing is left.
func deleteJob(policy metav1.DeletionPropagation, operator string) func(context.Context, *Attempt, point) error {
	return func(ctx context.Context, a *Attempt, _ point) error {
		if operator == "down" {
			a.sandbox.Kill()
		}
		err := a.actor.Primary().Delete(ctx, a.actor.Job, metav1.DeleteOptions{PropagationPolicy: &policy})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete the job: %w", err)
		}
		a.struck = true
		switch operator {
		case "restarted":
			return a.sandbox.Restart()
		case "down":
			isGone := func(v history.View) (bool, string) {
				isGone, saw := a.isGone(policy)(v)
				waitsForOperator := v.Job != nil && v.Job.GetDeletionTimestamp() != nil && slices.ContainsFunc(v.Job.GetFinalizers(), isOperators)
				return isGone || waitsForOperator, saw
			}
			if err := a.run.Await(ctx, "everything to be gone with the operator down", isGone); err != nil {
				return err
			}
			return a.sandbox.Start(a.Scenario.Flags)
		}
		return nil
	}
}

// isOperators reports whether a finalizer is an operator's, and not the API server's.
func isOperators(finalizer string) bool { return strings.Contains(finalizer, "/") }

// isGone: the job and its dependents no longer exist; with the policy Orphan, those that an owner reference reaches stay.
func (a *Attempt) isGone(policy metav1.DeletionPropagation) scenario.Check {
	return func(v history.View) (bool, string) {
		left := a.Scenario.Operator.Own(v.Children())
		if policy == metav1.DeletePropagationOrphan {
			left = slices.DeleteFunc(left, func(u *unstructured.Unstructured) bool { return u.GetNamespace() == v.Namespace })
		}
		return v.Job == nil && len(left) == 0, fmt.Sprintf("job there: %v, %d dependents", v.Job != nil, len(left))
	}
}

// allGone: everything that belongs to the job goes. That the operator deletes no orphan is a rule of every run (O6).
func allGone(policy metav1.DeletionPropagation) func(*Attempt) []oracle.Violation {
	return func(a *Attempt) (found []oracle.Violation) {
		ctx, cancel := context.WithTimeout(context.Background(), usualPatience)
		defer cancel()
		if err := a.run.Await(ctx, "everything to be gone", a.isGone(policy)); err != nil {
			found = append(found, oracle.Violation{Oracle: "G18", Text: err.Error()})
		}
		return found
	}
}
