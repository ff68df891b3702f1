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

// change is an edit of one object of a run by another client, as with kubectl.
type change struct {
	name     string
	resource string // the plural of a dependent's resource, or "" for the job
	content  bool   // of a dependent beside its metadata
	status   bool   // of the status subresource
	ends     bool   // it says that the job has ended
	hides    bool   // the operator no longer sees the object
	owners   bool   // of the owner references
	disowns  bool   // of the annotation that names the owner
	forgets  bool   // it removes what only the status could tell
	patch    func(*Attempt) map[string]any
	// back returns the patch that undoes it, if the operator does not repair it itself.
	back func(was *unstructured.Unstructured) map[string]any
}

// edited is an additional label that each edit of a label sets. The API server gives a Job without any label the labels of its pods.
const edited = "faults.stoic/edited"

// changes returns changes of every label, owner reference and field of the status.
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

// disowned returns a patch that makes an existing ConfigMap the owner: with a missing owner the object would be garbage-collected.
func disowned(a *Attempt) map[string]any {
	return map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": bystander, "uid": a.worker.bystander.UID, "controller": true}}}}
}

func merging(field string, value any) func(*Attempt) map[string]any {
	return func(*Attempt) map[string]any {
		return map[string]any{"metadata": map[string]any{field: value}}
	}
}

// restoring restores keys of a map, or removes those that did not exist.
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

// tamperings are G11: every such change, before every step of the user's but the first, and before the end.
func tamperings(sc scenario.Scenario, ref reference) (plans []Plan) {
	for _, c := range changes(sc.Operator) {
		for step := min(1, len(sc.Steps)); step <= len(sc.Steps); step++ {
			over := step == len(sc.Steps) && ref.settled && !ref.restores
			p := Plan{Goal: "G11", Fault: fmt.Sprintf("at step %d: %s", step, c.name), came: struck, edited: c.status, writes: 20, pods: 1,
				canary: step == 1 && sc.Timed(), spared: map[string]string{}}
			switch {
			case over && c.resource != "":
				continue // a child that loses its owner after the job has finished is released
			case !over && c.ends:
				continue // it ends the job: the operator believes it
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

// sameButStatus: the end state is the reference's, except for what only the status itself could tell.
func sameButStatus(a *Attempt) []oracle.Violation {
	mask := func(digest string) string {
		return forgettable().ReplaceAllString(digest, "")
	}
	if diff := cmp.Diff(strings.Split(mask(a.Reference.Digest), "\n"), strings.Split(mask(a.Run.View().Digest(a.Scenario.Operator.Rules.Status)), "\n")); diff != "" {
		return []oracle.Violation{{Oracle: "O1", Text: "the end state differs (-want +got):\n" + diff}}
	}
	return nil
}

// forgettable matches the lines of a digest's status with counts and the start time.
func forgettable() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^  replicaStatuses:.*\n(    .*\n)*|^  startTime: set\n`)
}

// tamper changes the first object of a kind, lets the operator see it, and changes it back.
func (a *Attempt) tamper(ctx context.Context, c change) error {
	o := a.victim(c.resource)
	if o == nil || c.owners && o.GetNamespace() != a.Actor.Namespace {
		return nil // there is nothing to change at this point, or no owner reference can reach it
	}
	now, err := a.patch(ctx, c, o, c.patch(a))
	if err != nil || now == nil {
		return err
	}
	a.struck = true
	a.mayRecreate(c, o)
	if c.content {
		return a.awaitRepair(ctx, o, now)
	}
	if err := pass(ctx, past); err != nil || c.back == nil {
		return err
	}
	_, err = a.patch(ctx, c, o, c.back(o))
	return err
}

// patch changes an object, with its UID as a precondition, and returns the result; nil if nothing was changed.
func (a *Attempt) patch(ctx context.Context, c change, o *unstructured.Unstructured, patch map[string]any) (now *unstructured.Unstructured, err error) {
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["uid"] = o.GetUID()
	patch["metadata"] = meta
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("write a patch: %w", err)
	}
	objects := a.Actor.Primary()
	if c.resource != "" {
		objects = a.Actor.Client.Resource(a.resourceOf(c.resource)).Namespace(o.GetNamespace())
	}
	var parts []string
	if c.status {
		parts = []string{"status"}
	}
	now, err = objects.Patch(ctx, o.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, parts...)
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
