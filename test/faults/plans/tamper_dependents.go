package plans

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"stoic/test/faults/history"
	"stoic/test/faults/scenario"
)

// all resources of an operator's dependents, with those that it does not watch.
func dependentsOf(o *scenario.Operator) []runtimeschema.GroupVersionResource {
	return append(append([]runtimeschema.GroupVersionResource{}, o.Dependents...), o.Unwatched...)
}

// contents are edits of what dependents say, beside their metadata, that the operator puts right by itself. Of what it does not
// watch it cannot know.
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

// copied is a patch as JSON has it: whoever writes one down has numbers of other types.
func copied(patch any) (content map[string]any) {
	text, err := json.Marshal(patch)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err != nil {
		panic(err) // it is written down in this program
	}
	return content
}

// victim is the first object of a resource that the job controls, or a dependent of it that the operator serves, too; or the job. The
// pods of a batch/v1 Job are its controller's: who takes one away gets another from there.
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

// mayRecreate: a child that is not the operator's any more, or that it does not see, may be recreated, once. So may what others have
// made for it, such as the pods of a batch/v1 Job, also when the Job is only edited.
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

// resourceOf a dependent, by its plural.
func (a *Attempt) resourceOf(plural string) runtimeschema.GroupVersionResource {
	for _, r := range dependentsOf(a.Scenario.Operator) {
		if r.Resource == plural {
			return r
		}
	}
	return runtimeschema.GroupVersionResource{}
}
