package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
)

// change is an edit of one object of a run by another client, as with kubectl.
type change struct {
	name     string
	resource string // the plural of a dependent's resource, or "" for the job
	content  bool   // of a dependent, other than its metadata
	status   bool   // of the status subresource
	ends     bool   // it says that the job has ended
	hides    bool   // the operator no longer sees the object
	owners   bool   // of the owner references
	disowns  bool   // of the annotation that names the owner
	forgets  bool   // it removes what only the status could tell
	patch    func(*Attempt) map[string]any
	// restored is the path below metadata of what the edit changes and the tamperer changes back; nil: it is not changed back.
	restored []string
}

// editedLabel is an additional label that each edit of a label sets. The API server gives a Job without any label those of its pods.
const editedLabel = "faults.stoic/edited"

// changes returns changes of every label, owner reference and field of the status.
func changes(o *scenario.Operator) (all []change) {
	values := map[string]any{"removed": nil, "-1": "-1", "5000": "5000", "2000000000": "2000000000", "a word": "other", "empty": ""}
	owners := map[string]any{"removed": nil, "nonsense": "x", "somebody else's": "v1 ConfigMap default/x 7b0f2d34-0000-0000-0000-000000000000"}
	ledgers := map[string]any{"removed": nil, "nonsense": "{", "a number": "7", "huge counts": `{"restarts":9223372036854775807}`}
	for _, r := range o.AllDependents() {
		of := "of one of the " + r.Resource
		for _, label := range o.Labels {
			for _, name := range sortedKeys(values) {
				all = append(all, change{name: fmt.Sprintf("label %s %s is %s", label, of, name), resource: r.Resource, hides: label == o.Selected,
					patch: metadata("labels", map[string]any{label: values[name], editedLabel: "yes"}), restored: []string{"labels", label}})
			}
		}
		all = append(all,
			change{name: "owner references " + of + " are removed", resource: r.Resource, hides: true, owners: true, patch: metadata("ownerReferences", []any{}), restored: []string{"ownerReferences"}},
			change{name: "owner references " + of + " are somebody else's", resource: r.Resource, hides: true, owners: true, patch: giveAway, restored: []string{"ownerReferences"}})
		for _, name := range sortedKeys(owners) {
			if o.OwnerAnnotation != "" {
				all = append(all, change{name: fmt.Sprintf("annotation of the owner %s is %s", of, name), resource: r.Resource, disowns: true,
					patch: metadata("annotations", map[string]any{o.OwnerAnnotation: owners[name]}), restored: []string{"annotations", o.OwnerAnnotation}})
			}
		}
		for _, name := range sortedKeys(o.Contents[r.Resource]) {
			content := o.Contents[r.Resource][name]
			all = append(all, change{name: fmt.Sprintf("content %s: %s", of, name), resource: r.Resource, content: true, patch: func(*Attempt) map[string]any {
				patch, _ := content.(map[string]any)
				return maps.Clone(patch)
			}})
		}
	}
	for _, name := range sortedKeys(o.Statuses) {
		all = append(all, change{name: "status: " + name, status: true, ends: name == "completed in the future", forgets: name == "no start time" || name == "nothing at all",
			patch: func(*Attempt) map[string]any { return map[string]any{"status": o.Statuses[name]} }})
	}
	for _, name := range sortedKeys(ledgers) {
		if o.Ledger != "" {
			all = append(all, change{name: "ledger " + name, patch: metadata("annotations", map[string]any{o.Ledger: ledgers[name]}), restored: []string{"annotations", o.Ledger}})
		}
	}
	return all
}

// giveAway returns a patch that makes an existing ConfigMap the owner: with a missing owner the object would be garbage-collected.
func giveAway(a *Attempt) map[string]any {
	return map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": bystander, "uid": a.worker.bystander.UID, "controller": true}}}}
}

func metadata(field string, value any) func(*Attempt) map[string]any {
	return func(*Attempt) map[string]any {
		return map[string]any{"metadata": map[string]any{field: value}}
	}
}

// back returns the patch that undoes the change of an object.
func (c change) back(was *unstructured.Unstructured) map[string]any {
	value, _, _ := unstructured.NestedFieldCopy(was.Object, append([]string{"metadata"}, c.restored...)...)
	if len(c.restored) == 1 {
		return map[string]any{"metadata": map[string]any{c.restored[0]: value}}
	}
	keys := map[string]any{c.restored[1]: value}
	if c.restored[0] == "labels" {
		keys[editedLabel] = nil
	}
	return map[string]any{"metadata": map[string]any{c.restored[0]: keys}}
}

// tamperings are G11: every such change.
func tamperings(sc scenario.Scenario) (all []act) {
	for _, c := range changes(sc.Operator) {
		all = append(all, act{
			name:   c.name + " at",
			do:     func(ctx context.Context, a *Attempt, _ point) error { return a.tamper(ctx, c) },
			adapt:  c.adapt,
			excuse: excuse{edited: c.status, writes: 20, pods: 1},
		})
	}
	return all
}

// adapt says what the oracles must tolerate because of the change; false: the change is not made at that point.
func (c change) adapt(to *Case, ref reference) bool {
	isOver := to.point.isEnd && ref.settled && !ref.restores
	switch {
	case isOver && c.resource != "":
		return false // a child that loses its owner after the job has finished is released
	case !isOver && c.ends:
		return false // it ends the job: the operator believes it
	case isOver && c.status, c.forgets:
		to.act.excuse.oracles = map[string]string{"O1": "the time of the start, and counts of a finished job, cannot be known any more when they are wiped"}
		to.act.check = sameButStatus
	case c.hides && !ref.restores:
		to.act.excuse.oracles = map[string]string{"O1": "a pod that ends unseen is not counted"}
		to.act.check = sameButStatus
	}
	return true
}

// sameButStatus: the end state is the reference's, except for counts and the start time, which only the status itself could tell.
func sameButStatus(a *Attempt) []oracle.Violation {
	forgotten := regexp.MustCompile(`(?m)^  replicaStatuses:.*\n(    .*\n)*|^  startTime: set\n`)
	lines := func(digest string) []string { return strings.Split(forgotten.ReplaceAllString(digest, ""), "\n") }
	if diff := cmp.Diff(lines(a.reference.Digest), lines(a.run.View().Digest(a.Scenario.Operator.Rules.Status))); diff != "" {
		return []oracle.Violation{{Oracle: "O1", Text: "the end state differs (-want +got):\n" + diff}}
	}
	return nil
}

// tamper changes the first object of a resource, lets the operator see it, and changes it back.
func (a *Attempt) tamper(ctx context.Context, c change) error {
	o := a.victim(c.resource)
	if o == nil || c.owners && o.GetNamespace() != a.actor.Namespace {
		return nil // there is nothing to change at this point, or no owner reference can reach it
	}
	now, err := a.patch(ctx, c, o, c.patch(a))
	if err != nil || now == nil {
		return err
	}
	a.struck = true
	a.excuseRecreation(c, o)
	if c.content {
		return a.awaitRepair(ctx, o, now)
	}
	if err := pass(ctx, past); err != nil || c.restored == nil {
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
	objects := a.actor.Client.Resource(a.run.ResourceOf(o.GetUID())).Namespace(o.GetNamespace())
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

// repairedWithin is how long a case waits for an operator to restore the content of a dependent. The training operator delays an
// update that running pods do not need soon, for at most the five seconds between two statuses.
const repairedWithin = 8 * time.Second

// awaitRepair waits until a dependent, or its successor, has its content from before the edit again. If an operator never repairs
// it, the end state differs, which oracle O1 reports.
func (a *Attempt) awaitRepair(ctx context.Context, was, now *unstructured.Unstructured) error {
	if err := a.run.AwaitReported(ctx, now); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, repairedWithin)
	defer cancel()
	resource := a.run.ResourceOf(was.GetUID())
	err := a.run.Await(waiting, "the repair", func(v history.View) (bool, string) {
		return slices.ContainsFunc(v.Children(), func(u *unstructured.Unstructured) bool {
			return a.run.ResourceOf(u.GetUID()) == resource && u.GetNamespace() == was.GetNamespace() && u.GetName() == was.GetName() && hasSameContent(u, was)
		}), "other content"
	})
	if ctx.Err() != nil {
		return err
	}
	return nil
}

// hasSameContent compares two objects without metadata and status, which the API server and their controllers write.
func hasSameContent(a, b *unstructured.Unstructured) bool {
	content := func(u *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(u.Object)
		delete(fields, "metadata")
		delete(fields, "status")
		return fields
	}
	return equality.Semantic.DeepEqual(content(a), content(b))
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

// excuseRecreation: a child that no longer belongs to the operator, or that it does not see, may be recreated, once. So may what
// others have created for it, such as the pods of a batch/v1 Job, also when the Job is only edited.
func (a *Attempt) excuseRecreation(c change, o *unstructured.Unstructured) {
	isGone := c.hides || c.disowns
	if !isGone && !c.content {
		return
	}
	a.recreated = map[string]int{}
	if isGone {
		a.recreated[a.run.ResourceOf(o.GetUID()).Resource]++
	}
	for _, u := range a.run.View().Children() {
		if history.Owner(u) == o.GetUID() {
			a.recreated[a.run.ResourceOf(u.GetUID()).Resource]++
		}
	}
}

type groupVersionResource = schema.GroupVersionResource

func contains(body []byte, text string) bool { return strings.Contains(string(body), text) }

// sortedKeys returns a map's keys in order: lists of cases are the same in every run.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
