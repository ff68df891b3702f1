package plans

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// deletions are G18: the job is deleted before every step but the first and before the end, in each of the three ways, with the
// operator up, restarted, and down until nothing is left.
func deletions(sc scenario.Scenario, ref reference) (plans []Plan) {
	if ref.state == "" {
		return nil // the scenario deletes it anyway
	}
	for step := 1; step <= len(sc.Steps); step++ {
		if sc.Steps[step-1].Orphans {
			continue // it no longer exists, and its orphans stay
		}
		sc := sc
		if slices.ContainsFunc(sc.Steps[step:], func(s scenario.Step) bool { return s.Spoils }) {
			sc.Paths = nil // it is deleted before it is malformed
		}
		for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan} {
			for _, operator := range []string{"up", "restarted", "down"} {
				p := Plan{Goal: "G18", Fault: fmt.Sprintf("deleted at step %d (%s), operator %s", step, policy, operator), came: struck,
					spared: map[string]string{"O1": "the run ends otherwise", "O2": "the run ends otherwise"},
					more:   func(a *Attempt) []oracle.Violation { return a.allGone(policy) }}
				p.Scenario, p.arrange = between(sc, step, func(ctx context.Context, a *Attempt) error { return a.delete(ctx, policy, operator) })
				p.Scenario.Steps = p.Scenario.Steps[:step+1]
				p.Scenario.End = jobGone
				plans = append(plans, p)
			}
		}
	}
	return plans
}

func (a *Attempt) delete(ctx context.Context, policy metav1.DeletionPropagation, operator string) error {
	if operator == "down" {
		a.Sandbox.Kill()
	}
	guarded := a.guarded(ctx)
	err := a.Actor.Primary().Delete(ctx, a.Actor.Job, metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the job: %w", err)
	}
	a.struck = true
	switch operator {
	case "restarted":
		return a.Sandbox.Restart()
	case "down":
		gone := a.gone(policy)
		if guarded {
			gone = jobGoes // it exists until the operator is up again
		}
		if err := a.Run.Await(ctx, "everything to be gone with the operator down", gone); err != nil {
			return err
		}
		return a.Sandbox.Start(a.Scenario.Flags)
	}
	return nil
}

func jobGone(v history.View) (bool, string) { return v.Job == nil, "the job is there" }

func jobGoes(v history.View) (bool, string) {
	return v.Job == nil || v.Job.GetDeletionTimestamp() != nil, "the job is there"
}

// guarded reports whether the object has a finalizer.
func (a *Attempt) guarded(ctx context.Context) bool {
	u, err := a.Actor.Primary().Get(ctx, a.Actor.Job, metav1.GetOptions{})
	return err == nil && len(u.GetFinalizers()) > 0
}

// gone: the job and its dependents no longer exist; with the policy Orphan, those that an owner reference reaches stay.
func (a *Attempt) gone(policy metav1.DeletionPropagation) func(history.View) (bool, string) {
	return func(v history.View) (bool, string) {
		left := a.Scenario.Operator.Own(v.Children())
		if policy == metav1.DeletePropagationOrphan {
			left = slices.DeleteFunc(left, func(u *unstructured.Unstructured) bool { return v.Namespace == "" || u.GetNamespace() == v.Namespace })
		}
		return v.Job == nil && len(left) == 0, fmt.Sprintf("job there: %v, %d dependents", v.Job != nil, len(left))
	}
}

func (a *Attempt) allGone(policy metav1.DeletionPropagation) (found []oracle.Violation) {
	ctx, cancel := context.WithTimeout(context.Background(), usualPatience)
	defer cancel()
	if err := a.Run.Await(ctx, "everything to be gone", a.gone(policy)); err != nil {
		found = append(found, oracle.Violation{Oracle: "G18", Text: err.Error()})
	}
	if policy != metav1.DeletePropagationOrphan {
		return found
	}
	for _, e := range a.Track.Journal() {
		if e.Verb == "delete" && e.Code < 300 && e.Forwarded && a.orphaned(e.Began.UnixNano(), e.Resource, e.Name) {
			found = append(found, oracle.Violation{Oracle: "G18", Text: fmt.Sprintf("deletes the orphan %s %s", e.Resource, e.Name)})
		}
	}
	return found
}

// orphaned reports whether the object had lost its owner at that time.
func (a *Attempt) orphaned(at int64, resource, name string) bool {
	owned := true
	for _, v := range a.Run.Versions() {
		if v.At.UnixNano() < at && v.Object.GetName() == name && v.Resource.Resource == resource {
			owned = a.Scenario.Operator.Rules.Owner(v.Object) != ""
		}
	}
	return !owned
}
