package plans

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// change is an edit by somebody with kubectl, of one object of a run.
type change struct {
	name     string
	resource string // the plural of a dependent's, or "" for the job
	content  bool   // of what a dependent says beside its metadata
	status   bool   // of the status subresource
	ends     bool   // it says that the job has ended
	hides    bool   // the operator does not see the object any more
	owners   bool   // of the owner references
	disowns  bool   // of the annotation that names the owner
	forgets  bool   // it takes away what only the status could tell
	patch    func(*Attempt) map[string]any
	// back undoes it, if the operator does not repair it itself.
	back func(was *unstructured.Unstructured) map[string]any
}

// edited is another label of whoever edits one. The API server gives a Job that is left without any label those of its pods.
const edited = "faults.stoic/edited"

// changes of every label, owner reference and field of the status.
func changes(o *scenario.Operator) []change {
	all := contents(o)
	values := map[string]any{"removed": nil, "-1": "-1", "5000": "5000", "2000000000": "2000000000", "a word": "other", "empty": ""}
	for _, r := range dependentsOf(o) {
		resource := r.Resource
		for _, label := range o.Labels {
			for _, name := range sortedNames(values) {
				all = append(all, change{name: fmt.Sprintf("label %s of one of the %s is %s", label, resource, name), resource: resource, hides: label == o.Selected,
					patch: merging("labels", map[string]any{label: values[name], edited: "yes"}), back: restoring("labels", label, edited)})
			}
		}
		all = append(all, change{name: fmt.Sprintf("owner references of one of the %s are removed", resource), resource: resource, hides: true, owners: true,
			patch: merging("ownerReferences", []any{}), back: restoringAll("ownerReferences")},
			change{name: fmt.Sprintf("owner references of one of the %s are somebody else's", resource), resource: resource,
				hides: true, owners: true, patch: disowned, back: restoringAll("ownerReferences")})
		for name, text := range map[string]any{"removed": nil, "nonsense": "x", "somebody else's": "v1 ConfigMap default/x 7b0f2d34-0000-0000-0000-000000000000"} {
			if o.OwnerAnnotation != "" {
				all = append(all, change{name: fmt.Sprintf("annotation of the owner of one of the %s %s", resource, name), resource: resource, disowns: true,
					patch: merging("annotations", map[string]any{o.OwnerAnnotation: text}), back: restoring("annotations", o.OwnerAnnotation)})
			}
		}
	}
	for _, name := range sortedNames(o.Statuses) {
		all = append(all, change{name: "status: " + name, status: true, ends: name == "completed in the future",
			forgets: name == "no start time" || name == "nothing at all",
			patch:   func(*Attempt) map[string]any { return map[string]any{"status": o.Statuses[name]} }})
	}
	for name, text := range map[string]any{"removed": nil, "nonsense": "{", "a number": "7", "huge counts": `{"restarts":9223372036854775807}`} {
		if o.Ledger != "" {
			all = append(all, change{name: "ledger " + name, patch: merging("annotations", map[string]any{o.Ledger: text}), back: restoring("annotations", o.Ledger)})
		}
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.name, b.name) })
	return all
}

// disowned gives an object to a ConfigMap that is there: one that is not would have it collected as garbage.
func disowned(a *Attempt) map[string]any {
	return map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": bystander, "uid": a.worker.bystander.UID, "controller": true}}}}
}

func merging(field string, value any) func(*Attempt) map[string]any {
	return func(*Attempt) map[string]any {
		return map[string]any{"metadata": map[string]any{field: value}}
	}
}

// restoring puts keys of a map back, or takes away those that were not there.
func restoring(field string, keys ...string) func(*unstructured.Unstructured) map[string]any {
	return func(was *unstructured.Unstructured) map[string]any {
		all := map[string]any{}
		for _, key := range keys {
			all[key], _, _ = unstructured.NestedFieldCopy(was.Object, "metadata", field, key)
		}
		return map[string]any{"metadata": map[string]any{field: all}}
	}
}

func restoringAll(field string) func(*unstructured.Unstructured) map[string]any {
	return func(was *unstructured.Unstructured) map[string]any {
		value, _, _ := unstructured.NestedFieldCopy(was.Object, "metadata", field)
		return map[string]any{"metadata": map[string]any{field: value}}
	}
}

// tamperings are G11: every such change, in front of every step of the user's and in front of the end.
func tamperings(sc scenario.Scenario, ref reference) (plans []Plan) {
	for _, c := range changes(sc.Operator) {
		for step := min(1, len(sc.Steps)); step <= len(sc.Steps); step++ {
			over := step == len(sc.Steps) && ref.settled && !ref.restores
			p := Plan{Goal: "G11", Fault: fmt.Sprintf("at step %d: %s", step, c.name), came: struck, edited: c.status, writes: 20, pods: 1,
				canary: step == 1 && sc.Timed(), spared: map[string]string{}}
			switch {
			case over && c.resource != "":
				continue // a child that is taken from a finished job is let go
			case !over && c.ends:
				continue // it ends the job, and is believed
			case over && c.status, c.forgets:
				p.spared["O1"] = "the time of the start, and counts of a finished job, cannot be known any more when they are wiped"
				p.more = sameButStatus
			case c.hides && !ref.restores:
				p.spared["O1"] = "a pod that ends unseen is not counted"
				p.more = sameButStatus
			}
			p.Scenario, p.arrange = between(sc, step, func(ctx context.Context, a *Attempt) error { return a.tamper(ctx, c) })
			plans = append(plans, p)
		}
	}
	return plans
}

// sameButStatus: the end state is the reference's, but for what only the status itself could tell.
func sameButStatus(a *Attempt) []oracle.Violation {
	mask := func(digest string) string {
		return forgettable().ReplaceAllString(digest, "")
	}
	if diff := cmp.Diff(strings.Split(mask(a.Reference.Digest), "\n"), strings.Split(mask(a.Run.View().Digest(a.Scenario.Operator.Rules.Status)), "\n")); diff != "" {
		return []oracle.Violation{{Oracle: "O1", Text: "the end state differs (-want +got):\n" + diff}}
	}
	return nil
}

// forgettable lines of a digest's status: counts, and the time of the start.
func forgettable() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^  replicaStatuses:.*\n(    .*\n)*|^  startTime: set\n`)
}

// tamper changes the first object of a kind, lets the operator see it, and changes it back.
func (a *Attempt) tamper(ctx context.Context, c change) error {
	o := a.victim(c.resource)
	if o == nil || c.owners && o.GetNamespace() != a.Actor.Namespace {
		return nil // there is nothing to change at this point, or it is where owner references reach nothing
	}
	if done, err := a.patch(ctx, c, o, c.patch(a)); err != nil || !done {
		return err
	}
	a.struck = true
	a.mayRecreate(c, o)
	if err := pass(ctx, past); err != nil || c.back == nil {
		return err
	}
	_, err := a.patch(ctx, c, o, c.back(o))
	return err
}

// patch changes an object if it still is the same.
func (a *Attempt) patch(ctx context.Context, c change, o *unstructured.Unstructured, patch map[string]any) (done bool, err error) {
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["uid"] = o.GetUID()
	patch["metadata"] = meta
	body, err := json.Marshal(patch)
	if err != nil {
		return false, fmt.Errorf("write a patch: %w", err)
	}
	objects := a.Actor.Primary()
	if c.resource != "" {
		objects = a.Actor.Client.Resource(a.resourceOf(c.resource)).Namespace(o.GetNamespace())
	}
	var parts []string
	if c.status {
		parts = []string{"status"}
	}
	_, err = objects.Patch(ctx, o.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, parts...)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil // it has gone, or is another one
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return false, nil // the API server does not let anybody do that
	case err != nil:
		return false, fmt.Errorf("tamper: %w", err)
	}
	return true, nil
}
