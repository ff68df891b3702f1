package apimodel

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tidy reduces an unfolded tree to what the server keeps: the known fields of metadata that are set, no nulls in built-in
// resources, and the defaults that decide about an object's deletion. m is the metadata, as it was read.
func (s *store) tidy(tree map[string]any, m *metav1.ObjectMeta) {
	meta := metaOf(tree)
	maps.DeleteFunc(meta, func(field string, value any) bool { return !known(field) || empty(value) })
	if slices.ContainsFunc(slices.Collect(maps.Values(m.Labels)), blank) {
		meta["labels"] = texts(m.Labels)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(m.Annotations)), blank) {
		meta["annotations"] = texts(m.Annotations)
	}
	if m.OwnerReferences = distinct(m.OwnerReferences); len(m.OwnerReferences) > 0 {
		meta["ownerReferences"] = references(m.OwnerReferences)
	}
	if s.custom {
		return
	}
	for field, value := range tree {
		if field != "metadata" {
			tree[field], _ = withoutNulls(value)
		}
	}
	if spec, _ := tree["spec"].(map[string]any); s.graceful && spec["terminationGracePeriodSeconds"] == nil {
		if spec = maps.Clone(spec); spec == nil {
			spec = map[string]any{}
		}
		spec["terminationGracePeriodSeconds"] = int64(corev1.DefaultTerminationGracePeriodSeconds)
		tree["spec"] = spec
	}
	if s.Status && tree["status"] == nil {
		tree["status"] = map[string]any{}
		if s.Plural == "services" {
			tree["status"] = map[string]any{"loadBalancer": map[string]any{}}
		}
	}
	maps.DeleteFunc(tree, func(field string, value any) bool {
		return value == nil || field == "status" && !s.Status || field == "data" && empty(value)
	})
}

// known reports whether metadata has a field.
func known(field string) bool {
	switch field {
	case "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers":
		return true
	}
	return false
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

func blank(text string) bool { return text == "" }

// texts converts a map of strings; a null became an empty string.
func texts(from map[string]string) map[string]any {
	to := make(map[string]any, len(from))
	for k, v := range from {
		to[k] = v
	}
	return to
}

// distinct removes repeated owners.
func distinct(owners []metav1.OwnerReference) []metav1.OwnerReference {
	var kept []metav1.OwnerReference
	for _, o := range owners {
		if !slices.ContainsFunc(kept, func(k metav1.OwnerReference) bool { return reflect.DeepEqual(k, o) }) {
			kept = append(kept, o)
		}
	}
	return kept
}

func references(owners []metav1.OwnerReference) []any {
	list := make([]any, len(owners))
	for i, o := range owners {
		tree := map[string]any{"apiVersion": o.APIVersion, "kind": o.Kind, "name": o.Name, "uid": string(o.UID)}
		if o.Controller != nil {
			tree["controller"] = *o.Controller
		}
		if o.BlockOwnerDeletion != nil {
			tree["blockOwnerDeletion"] = *o.BlockOwnerDeletion
		}
		list[i] = tree
	}
	return list
}

// withoutNulls returns a value without nulls in its maps; it is the value itself if there are none.
func withoutNulls(value any) (next any, changed bool) {
	switch v := value.(type) {
	case map[string]any:
		copied := v
		for k, item := range v {
			next, differs := withoutNulls(item)
			if !differs && item != nil {
				continue
			}
			if !changed {
				copied, changed = maps.Clone(v), true
			}
			if copied[k] = next; next == nil {
				delete(copied, k)
			}
		}
		return copied, changed
	case []any:
		copied := v
		for i, item := range v {
			if next, differs := withoutNulls(item); differs {
				if !changed {
					copied, changed = slices.Clone(v), true
				}
				copied[i] = next
			}
		}
		return copied, changed
	}
	return value, false
}
