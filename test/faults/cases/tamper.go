package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// change is an edit of one object of a run by another client, as with kubectl: a merge patch.
type change struct {
	name     string
	resource string // the plural of a dependent's resource, or "" for the job
	what     what
	patch    map[string]any
	// hides: the operator no longer sees the object, or no longer knows it as its own.
	hides bool
}

// what is the part of an object that a change concerns.
type what string

const (
	labels      what = "labels"
	owners      what = "owner references"
	annotations what = "annotations"
	status      what = "status"
)

// changes returns changes of every label and owner of dependents, of the ledger and of fields of the status.
func changes(o *scenario.Operator) (all []change) {
	values := map[string]any{"removed": nil, "-1": "-1", "2000000000": "2000000000", "a word": "other", "empty": ""}
	for _, r := range o.AllDependents() {
		add := func(what what, name string, hides bool, patch map[string]any) {
			all = append(all, change{fmt.Sprintf("%s of one of the %s: %s", what, r.Resource, name), r.Resource, what, patch, hides})
		}
		for _, label := range o.Labels {
			for _, name := range sortedKeys(values) {
				add(labels, label+" is "+name, label == o.Selected, metadata("labels", map[string]any{label: values[name]}))
			}
		}
		add(owners, "none", true, metadata("ownerReferences", []any{}))
		for _, value := range []any{nil, "x", "v1 ConfigMap default/x 7b0f2d34-0000-0000-0000-000000000000"} {
			if o.OwnerAnnotation != "" {
				add(annotations, fmt.Sprintf("the owner is %v", value), true, metadata("annotations", map[string]any{o.OwnerAnnotation: value}))
			}
		}
	}
	for _, name := range sortedKeys(o.Statuses) {
		all = append(all, change{"status: " + name, "", status, map[string]any{"status": o.Statuses[name]}, false})
	}
	for _, value := range []any{nil, "{", "7", `{"restarts":9223372036854775807}`} {
		if o.Ledger != "" {
			all = append(all, change{fmt.Sprintf("the ledger is %v", value), "", annotations, metadata("annotations", map[string]any{o.Ledger: value}), false})
		}
	}
	return all
}

func metadata(field string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{field: value}}
}

// undo returns the merge patch that takes an object back to what it was before another patch.
func undo(patch, was map[string]any) map[string]any {
	back := map[string]any{}
	for field, value := range patch {
		inner, isObject := value.(map[string]any)
		old, wasObject := was[field].(map[string]any)
		if isObject && wasObject {
			back[field] = undo(inner, old)
		} else {
			back[field] = was[field]
		}
	}
	return back
}

// tamperings are G11: every such change.
func tamperings(o *scenario.Operator) (all []act) {
	for _, c := range changes(o) {
		all = append(all, act{
			name:   c.name + ", at",
			do:     func(ctx context.Context, a *Attempt, _ point) error { return a.tamper(ctx, c) },
			adapt:  c.adapt,
			excuse: excuse{edited: c.what == status, writes: 20, pods: 1},
		})
	}
	return all
}

// adapt says what the oracles must tolerate because of the change; false: the change is not made at that point.
func (c change) adapt(to *Case, ref reference) bool {
	isOver := to.point.isEnd() && ref.isOver
	forgets := c.what == status && (c.patch["status"] == nil || c.name == "status: no start time")
	switch {
	case c.resource != "" && len(ref.Created[c.resource]) == 0:
		return false
	case isOver && c.resource != "":
		return false // a child that loses its owner after the job has finished is released
	case !isOver && c.name == "status: completed in the future":
		return false // it ends the job: the operator believes it
	case isOver && c.what == status, forgets, c.hides && to.Scenario.Operator.Ledger != "":
		// The time of the start, and the counts of a job whose pods are gone or ended unseen, cannot be known any more.
		to.act.excuse.oracles = []string{"O1"}
		to.act.check = sameButStatus
	}
	return true
}

// sameButStatus: the end state is the reference's, except for counts and the start time, which only the status itself could tell.
func sameButStatus(a *Attempt) []oracle.Violation {
	forgotten := regexp.MustCompile(`(?m)^  replicaStatuses:.*\n(    .*\n)*|^  startTime: set\n`)
	lines := func(digest string) string { return forgotten.ReplaceAllString(digest, "") }
	if diff := cmp.Diff(lines(a.reference.Digest), lines(a.run.View().Digest(a.Scenario.Operator.Rules.Status))); diff != "" {
		return []oracle.Violation{{Oracle: "O1", Text: "the end state differs (-want +got):\n" + diff}}
	}
	return nil
}

// tamper changes the first object of a resource, lets the operator see it, and changes it back, except a status.
func (a *Attempt) tamper(ctx context.Context, c change) error {
	was := a.victim(c.resource)
	if was == nil || c.what == owners && was.GetNamespace() != a.actor.Namespace {
		return nil // there is nothing to change at this point, or no owner reference can reach it
	}
	subresource := []string{}
	if c.what == status {
		subresource = append(subresource, "status")
	}
	now, err := a.patch(ctx, was, c.patch, subresource...)
	if err != nil || now == nil {
		return err
	}
	a.struck = true
	if c.hides {
		a.excuseRecreation(was)
	}
	if err := pass(ctx, past); err != nil || c.what == status {
		return err
	}
	_, err = a.patch(ctx, was, undo(c.patch, was.Object))
	return err
}

// patch changes an object, with its UID as a precondition, and returns the result; nil if nothing was changed.
func (a *Attempt) patch(ctx context.Context, u *unstructured.Unstructured, patch map[string]any, subresource ...string) (now *unstructured.Unstructured, err error) {
	meta, _ := patch["metadata"].(map[string]any)
	conditional := maps.Clone(patch)
	conditional["metadata"] = map[string]any{"uid": u.GetUID()}
	maps.Copy(conditional["metadata"].(map[string]any), meta)
	body, err := json.Marshal(conditional)
	if err != nil {
		return nil, fmt.Errorf("write a patch: %w", err)
	}
	objects := a.actor.Client.Resource(a.run.ResourceOf(u.GetUID())).Namespace(u.GetNamespace())
	now, err = objects.Patch(ctx, u.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, subresource...)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil, nil // it no longer exists, or is another one
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return nil, nil // the API server rejects that from any client
	case err != nil:
		return nil, fmt.Errorf("tamper: %w", err)
	}
	return now, nil
}

// victim returns the first object of a resource that the job controls; or the job. The pods of a batch/v1 Job do not count: its
// controller would replace a deleted one.
func (a *Attempt) victim(resource string) *unstructured.Unstructured {
	v := a.run.View()
	if resource == "" || v.Job == nil {
		return v.Job
	}
	for _, u := range v.Children() {
		if a.Scenario.Operator.Rules.Owner(u) == v.Job.GetUID() && a.run.ResourceOf(u.GetUID()).Resource == resource {
			return u
		}
	}
	return nil
}

// excuseRecreation: a child that the operator does not see may be recreated, once. So may what others have created for it, such as
// the pods of a batch/v1 Job.
func (a *Attempt) excuseRecreation(u *unstructured.Unstructured) {
	a.recreated = map[string]int{a.run.ResourceOf(u.GetUID()).Resource: 1}
	for _, child := range a.run.View().Children() {
		if history.Owner(child) == u.GetUID() {
			a.recreated[a.run.ResourceOf(child.GetUID()).Resource]++
		}
	}
}

// sortedKeys returns a map's keys in order: lists of cases are the same in every run.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
