package convert

import (
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// head reads what can be read of any object. It looks at the raw metadata: the accessors of an untyped object
// answer with nothing at all where one label is malformed, and "not deleting" for a malformed time.
func (r *reader) head(raw map[string]any) *schema.Head {
	head := &schema.Head{Kind: r.kind}
	meta, _ := raw["metadata"].(map[string]any)
	textOf := func(key string) string { v, _ := meta[key].(string); return v }
	head.Meta.Name = textOf("name")
	head.Meta.Namespace = textOf("namespace")
	head.Meta.UID = types.UID(textOf("uid"))
	head.Meta.ResourceVersion = textOf("resourceVersion")
	if n, ok := numberOf(meta["generation"]); ok {
		head.Meta.Generation, _ = n.integer()
	}
	if created, ok := timeOf(meta["creationTimestamp"]); ok {
		head.Meta.CreationTimestamp = created
	}
	if given := meta["deletionTimestamp"]; given != nil {
		deleted, ok := timeOf(given)
		if !ok || deleted.IsZero() {
			deleted = metav1.Unix(0, 0) // deleting, whatever it says; not zero, which means not deleting
		}
		head.Meta.DeletionTimestamp = &deleted
	}
	head.Status = statusOf(r.kind, raw["status"])
	head.Ledger = ledgerOf(head.Meta.UID, meta["annotations"])
	head.ManagedBy = managerOf(raw)
	return head
}

// managerOf is the other controller that the API allows to run an object, if the object names it.
func managerOf(raw map[string]any) string {
	spec, _ := raw["spec"].(map[string]any)
	policy, _ := spec["runPolicy"].(map[string]any)
	if manager, _ := policy["managedBy"].(string); manager == schema.ManagedByMultiKueue {
		return manager
	}
	return ""
}

// timeOf reads a time as the API writes it.
func timeOf(raw any) (metav1.Time, bool) {
	v, ok := raw.(string)
	if !ok || len(v) > 64 {
		return metav1.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, v)
	return metav1.Time{Time: t.UTC()}, err == nil
}

// identity checks apiVersion, kind and metadata: that this is an object of the kind, and has a name.
func (r *reader) identity(raw map[string]any) {
	r.constant(raw, "apiVersion", r.kind.APIVersion())
	r.constant(raw, "kind", r.kind.Name)
	r.enter("metadata")
	defer r.leave()
	meta, ok := raw["metadata"].(map[string]any)
	if !ok && raw["metadata"] != nil {
		r.mismatch(object, raw["metadata"])
		return
	}
	r.required(meta, "name")
	r.unknownMeta(meta)
	for _, key := range []string{"name", "namespace"} {
		if _, ok := meta[key].(string); !ok && meta[key] != nil {
			r.enter(key)
			r.mismatch(text, meta[key])
			r.leave()
		}
	}
}

// unknownMeta warns of fields that no object's metadata has. An API server drops them in silence.
func (r *reader) unknownMeta(meta map[string]any) {
	s := shapeOf(reflect.TypeFor[metav1.ObjectMeta]())
	for key := range meta {
		if s.fields[key] == nil {
			r.at = append(r.at, step{key: key, within: meta, shape: s})
			r.unknown(s, key)
			r.leave()
		}
	}
}

// constant checks a field whose value is known beforehand. A server always fills it in; a file may lack it.
func (r *reader) constant(raw map[string]any, key, want string) {
	r.enter(key)
	defer r.leave()
	switch v := raw[key].(type) {
	case nil:
	case string:
		if v == want {
			return
		}
		hint := ""
		if version, _ := strings.CutPrefix(v, r.kind.Group+"/"); strings.HasPrefix(version, "v1alpha") || strings.HasPrefix(version, "v1beta") {
			hint = "that version is no longer served"
		}
		r.problem(schema.InvalidValue, schema.Quote(v), `be "`+want+`"`, hint)
	default:
		r.mismatch(text, v)
	}
}
