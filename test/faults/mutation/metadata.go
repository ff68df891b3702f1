package mutation

import (
	"fmt"
	"maps"
	"strings"
)

// Bystander is the placeholder for the UID of a ConfigMap of that name in the namespace of the object. No object of an operator
// owns it. The client that stores the object replaces the placeholder by the UID.
const Bystander = "bystander"

// inMetadata returns changes that API servers accept, as they check metadata whatever the schema of the object is.
func inMetadata(object map[string]any, values []value) (all []Mutation) {
	add := func(what string, value any, path ...any) {
		m := Mutation{Path: append(Path{"metadata"}, path...), What: what, Part: Metadata, change: put(value)}
		m.Large = size(value) > large
		all = append(all, m)
	}
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	for _, more := range []string{".x", "-x.y", "-" + strings.Repeat("a", 40), "-" + strings.Repeat("b", 57-len(name)), "-" + strings.Repeat("c", 62-len(name)), "-" + strings.Repeat("d", 200), "-" + strings.Repeat("e", 252-len(name))} {
		add(fmt.Sprintf("%d bytes, ends in %s", len(name+more), more[max(0, len(more)-3):]), name+more, "name")
	}
	add("a dot behind 199 bytes, where names of events are cut", name+"-"+strings.Repeat("f", 198-len(name))+"."+strings.Repeat("g", 20), "name")
	for _, front := range []string{"0", "7.", "x--"} {
		add("it begins with "+front, front+name, "name")
	}
	for _, field := range []string{"labels", "annotations"} {
		for _, v := range values {
			text, is := v.is.(string)
			if !is && v.what != "null" && !strings.HasPrefix(v.what, "a text") {
				continue
			}
			if is && field == "labels" && len(text) > 64 {
				continue // API servers accept no such label
			}
			for _, key := range []string{"example.com/x", "app.kubernetes.io/managed-by", "training.kubeflow.org/job-name", "training.kubeflow.org/ledger", "test.example.com/operator", "test.example.com/owner", "kueue.x-k8s.io/queue-name"} {
				add(v.what, v.is, field, key)
			}
		}
		add("300 of them", many300(), field)
		add("an empty object", map[string]any{}, field)
		add("null", nil, field)
	}
	owner := func(fields map[string]any) map[string]any {
		o := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": Bystander, "uid": "{" + Bystander + "}"}
		maps.Copy(o, fields)
		return o
	}
	add("a controller that is somebody else", []any{owner(map[string]any{"controller": true})}, "ownerReferences")
	add("a controller that blocks", []any{owner(map[string]any{"controller": true, "blockOwnerDeletion": true})}, "ownerReferences")
	add("an owner", []any{owner(nil)}, "ownerReferences")
	add("the same owner twice", []any{owner(nil), owner(nil)}, "ownerReferences")
	add("an owner of an unknown kind", []any{owner(nil), owner(map[string]any{"apiVersion": "nobody.example.com/v1", "kind": "Nobody", "uid": "7b0f2d34-0000-0000-0000-000000000000"})}, "ownerReferences")
	add("an empty list", []any{}, "ownerReferences")
	for _, finalizers := range [][]any{{"example.com/hold"}, {"example.com/a", "example.com/b", "example.com/a"}, {"foregroundDeletion"}, {"orphan"}, {}} {
		add(fmt.Sprint(finalizers), finalizers, "finalizers")
	}
	add("it generates another", "x-", "generateName")
	add("a future one", int64(1<<40), "generation")
	add("long ago", "1970-01-01T00:00:00Z", "creationTimestamp")
	add("now", "2026-01-01T00:00:00Z", "deletionTimestamp")
	add("somebody else's", "7b0f2d34-0000-0000-0000-000000000000", "uid")
	return all
}

func many300() map[string]any {
	m := map[string]any{}
	for i := range 300 {
		m[fmt.Sprintf("example.com/n-%d", i)] = strings.Repeat("v", 60)
	}
	return m
}
