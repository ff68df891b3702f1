package apimodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Trees are JSON values: nil, bool, int64, float64, string, []any, map[string]any. They share parts, so a tree in an object is
// never changed; unfold copies the parts that are about to be written.

func parse(body []byte) (map[string]any, error) {
	var tree map[string]any
	if err := utiljson.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return tree, nil
}

// encode writes a value as JSON, so that equal trees are equal texts.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%T is no JSON value: %v", value, err))
	}
	return text
}

// unfold copies the outermost map and the metadata.
func unfold(tree map[string]any) map[string]any {
	tree = maps.Clone(tree)
	meta, _ := tree["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	tree["metadata"] = meta
	return tree
}

// metaOf returns the metadata of an unfolded tree.
func metaOf(tree map[string]any) map[string]any {
	meta, _ := tree["metadata"].(map[string]any)
	return meta
}

func newObject(tree map[string]any) (*object, error) {
	meta, err := readMeta(metaOf(tree))
	if err != nil {
		return nil, err
	}
	return &object{tree: tree, json: encode(tree), meta: meta}, nil
}

func readMeta(tree map[string]any) (*metav1.ObjectMeta, error) {
	meta := &metav1.ObjectMeta{}
	if err := utiljson.Unmarshal(encode(tree), meta); err != nil {
		return nil, fmt.Errorf("read metadata: %w", err)
	}
	meta.ManagedFields = nil
	meta.SelfLink = ""
	return meta, nil
}

// tidy reduces an unfolded tree to what the server keeps: the fields of metadata that are set, no nulls in built-in resources, and the
// defaults that decide about an object's deletion. m is the metadata, as it was read.
func (s *store) tidy(tree map[string]any, m *metav1.ObjectMeta) {
	m.OwnerReferences = distinct(m.OwnerReferences)
	meta, err := parse(encode(m))
	if err != nil {
		panic(fmt.Sprintf("read what was written: %v", err))
	}
	if m.CreationTimestamp.IsZero() {
		delete(meta, "creationTimestamp")
	}
	tree["metadata"] = meta
	if s.custom {
		return
	}
	for field, value := range tree {
		if field != "metadata" {
			tree[field] = withoutNulls(value)
		}
	}
	spec, _ := tree["spec"].(map[string]any)
	if s.graceful && spec["terminationGracePeriodSeconds"] == nil {
		spec = maps.Clone(spec)
		if spec == nil {
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
		data, _ := value.(map[string]any)
		return value == nil || field == "status" && !s.Status || field == "data" && len(data) == 0
	})
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

// setOwners sets the owner references of an unfolded tree.
func setOwners(tree map[string]any, owners []metav1.OwnerReference) {
	meta, err := parse(encode(metav1.ObjectMeta{OwnerReferences: owners}))
	if err != nil {
		panic(fmt.Sprintf("read what was written: %v", err))
	}
	restore(metaOf(tree), meta, "ownerReferences")
}

// withoutNulls returns a value without nulls in its maps.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for k, item := range v {
			if item != nil {
				kept[k] = withoutNulls(item)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, item := range v {
			kept[i] = withoutNulls(item)
		}
		return kept
	}
	return value
}
