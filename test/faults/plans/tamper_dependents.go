package plans

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// dependentsOf returns all resources of an operator's dependents, including those that it does not watch.
func dependentsOf(o *scenario.Operator) []runtimeschema.GroupVersionResource {
	return append(append([]runtimeschema.GroupVersionResource{}, o.Dependents...), o.Unwatched...)
}

// contents returns edits of dependents, beside their metadata, that the operator repairs by itself. It cannot know of edits of
// what it does not watch.
func contents(o *scenario.Operator) (all []change) {
	for _, resource := range sortedNames(o.Contents) {
		for _, name := range sortedNames(o.Contents[resource]) {
			content := o.Contents[resource][name]
			all = append(all, change{name: fmt.Sprintf("content of one of the %s: %s", resource, name), resource: resource, content: true,
				patch: func(*Attempt) map[string]any { return copied(content) }})
		}
	}
	return all
}

// copied returns a patch with the types of decoded JSON: numbers in Go source have others.
func copied(patch any) (content map[string]any) {
	text, err := json.Marshal(patch)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		panic(err) // the patch is a constant of this program
	}
	return content
}

// repairedWithin is how long a plan waits for an operator to restore the content of a dependent. The training operator delays an
// update that running pods do not need soon, for at most the five seconds between two statuses.
const repairedWithin = 8 * time.Second

// awaitRepair waits until a dependent, or its successor, has its content from before the edit again. If an operator never repairs
// it, the end state differs, which oracle O1 reports.
func (a *Attempt) awaitRepair(ctx context.Context, was, now *unstructured.Unstructured) error {
	if err := a.Run.AwaitReported(ctx, now); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, repairedWithin)
	defer cancel()
	resource := a.Run.ResourceOf(was.GetUID())
	if err := a.Run.Await(waiting, "the repair", func(v history.View) (bool, string) {
		return slices.ContainsFunc(v.Children(), func(u *unstructured.Unstructured) bool {
			return a.Run.ResourceOf(u.GetUID()) == resource && u.GetNamespace() == was.GetNamespace() && u.GetName() == was.GetName() && saysSame(u, was)
		}), "other content"
	}); err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}

// saysSame compares two objects without metadata and status, which the API server and their controllers write.
func saysSame(a, b *unstructured.Unstructured) bool {
	bare := func(u *unstructured.Unstructured) map[string]any {
		fields := maps.Clone(u.Object)
		delete(fields, "metadata")
		delete(fields, "status")
		return fields
	}
	return equality.Semantic.DeepEqual(bare(a), bare(b))
}

// victim returns the first object of a resource that the job controls, or that a dependent controls which the operator serves,
// too; or the job. The pods of a batch/v1 Job do not count: its controller would replace a deleted one.
func (a *Attempt) victim(resource string) *unstructured.Unstructured {
	v := a.Run.View()
	if resource == "" {
		return v.Job
	}
	rules := a.Scenario.Operator.Rules
	for _, u := range v.Children() {
		owner := rules.Owner(u)
		controlled := v.Job != nil && owner == v.Job.GetUID() || owner != "" && slices.Contains(rules.Serves, a.Run.ResourceOf(owner).Resource)
		if controlled && a.Run.ResourceOf(u.GetUID()).Resource == resource {
			return u
		}
	}
	return nil
}

// mayRecreate: a child that no longer belongs to the operator, or that it does not see, may be recreated, once. So may what
// others have created for it, such as the pods of a batch/v1 Job, also when the Job is only edited.
func (a *Attempt) mayRecreate(c change, o *unstructured.Unstructured) {
	gone := c.hides || c.disowns
	if !gone && !c.content {
		return
	}
	a.recreated = map[string]int{}
	if gone {
		a.recreated[a.Run.ResourceOf(o.GetUID()).Resource]++
	}
	owners := map[types.UID]bool{o.GetUID(): true}
	for added := true; added; { // until nothing more belongs to what was found
		added = false
		for _, u := range a.Run.View().Children() {
			if uid := u.GetUID(); owners[history.Owner(u)] && !owners[uid] {
				owners[uid], added = true, true
				a.recreated[a.Run.ResourceOf(uid).Resource]++
			}
		}
	}
}

// resourceOf returns the resource of a dependent, by its plural.
func (a *Attempt) resourceOf(plural string) runtimeschema.GroupVersionResource {
	for _, r := range dependentsOf(a.Scenario.Operator) {
		if r.Resource == plural {
			return r
		}
	}
	return runtimeschema.GroupVersionResource{}
}
