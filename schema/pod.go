package schema

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pod is what most decisions ask of a pod; convert.SlimPod reads it.
type Pod struct {
	// Labels are those that were asked for, as far as it has them.
	Labels Labels
	// Finished: it has succeeded or failed, and runs no more.
	Finished bool
	Ready    bool
	// ReadySince is the time of its node's clock since when it is ready; zero if it is not, or nobody says.
	ReadySince metav1.Time
}

// PodOf a template, given in JSON: see convert.Verbatim. The whole spec reaches the pod; of the metadata, annotations and finalizers
// do. Labels are those of the pod, all of them. A template that is no JSON object makes a pod that the API server refuses.
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

// Taken are the names that no child of a resource can be created under: those of children, of objects that may be adopted, and those
// that the API server has refused lately as somebody else's object has them. Only the namespace of the object is looked at.
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
