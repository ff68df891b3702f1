package schema

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is what most decisions need to know of a pod; convert.SlimPod reads it.
type Pod struct {
	// Labels are the requested labels that the pod has.
	Labels Labels
	// Finished: the pod has succeeded or failed, and no longer runs.
	Finished bool
	Ready    bool
	// ReadySince is since when the pod is ready, by the clock of its node. It is zero if it is not ready, or if the time is not
	// known.
	ReadySince metav1.Time
}

// PodOf returns a pod to create from a template in JSON: see convert.Verbatim. The pod gets the whole spec of the template, and the
// annotations and finalizers of its metadata. Its labels are the given ones alone. A template that is no JSON object makes a pod
// that the API server refuses.
func PodOf(owner *Head, name string, labels map[string]string, template []byte) Object {
	var is, has map[string]json.RawMessage // keys as they are: a struct would take "Spec" for spec
	if json.Unmarshal(template, &is) != nil || json.Unmarshal(is["metadata"], &has) != nil {
		has = nil
	}
	meta := ChildMeta(owner, owner.Meta.Namespace, name, labels, "")
	for _, field := range []string{"annotations", "finalizers"} {
		if has[field] != nil {
			meta[field] = has[field]
		}
	}
	return Object{Resource: Pods(), Namespace: owner.Meta.Namespace, Name: name,
		Body: JSON(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": is["spec"]})}
}

// Taken returns the names under which no child of a resource can be created in the namespace of the object: names of children, of
// objects that may be adopted or released, and names recently refused because an object of another owner has them.
func (o *Observed) Taken(r Resource) map[string]bool {
	taken := map[string]bool{}
	note := func(c *Child) { taken[c.Name] = taken[c.Name] || c.Namespace == o.Head.Meta.Namespace }
	for _, children := range o.Children {
		if children.Resource != r {
			continue
		}
		for i := range children.Items {
			note(&children.Items[i])
		}
		for _, list := range [][]Candidate{children.Orphans, children.Unclaimed} {
			for i := range list {
				note(&list[i].Child)
			}
		}
	}
	for _, refused := range o.Refused {
		if refused.Resource == r && refused.Cause == CauseNameTaken {
			note(&Child{Namespace: refused.Namespace, Name: refused.Name})
		}
	}
	return taken
}
