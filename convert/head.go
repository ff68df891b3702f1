package convert

import (
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// Meta reads the metadata of any object leniently, from the raw map. The accessors of an untyped object return no labels at all if
// one is malformed, and no deletionTimestamp if it is malformed.
func Meta(raw map[string]any) metav1.ObjectMeta {
	var read metav1.ObjectMeta
	meta, _ := raw["metadata"].(map[string]any)
	textOf := func(key string) string { v, _ := meta[key].(string); return v }
	read.Name = textOf("name")
	read.Namespace = textOf("namespace")
	read.UID = types.UID(textOf("uid"))
	read.ResourceVersion = textOf("resourceVersion")
	if n, ok := numberOf(meta["generation"]); ok {
		read.Generation, _ = n.integer()
	}
	if created, ok := TimeOf(meta["creationTimestamp"]); ok {
		read.CreationTimestamp = created
	}
	if given := meta["deletionTimestamp"]; given != nil {
		deleted, ok := TimeOf(given)
		if !ok || deleted.IsZero() {
			deleted = metav1.Unix(0, 0) // deleting, whatever the value; not the zero time, which means not deleting
		}
		read.DeletionTimestamp = &deleted
	}
	finalizers, _ := meta["finalizers"].([]any)
	for _, f := range finalizers {
		if name, ok := f.(string); ok {
			read.Finalizers = append(read.Finalizers, name)
		}
	}
	return read
}

// ConditionOf returns the condition of a type in the status of any object, or an empty one. It reads leniently, because an object
// of another controller may be malformed. Its texts are clean.
func ConditionOf(u *unstructured.Unstructured, of string) (read metav1.Condition) {
	status, _ := u.Object["status"].(map[string]any)
	all, _ := status["conditions"].([]any)
	for _, raw := range all {
		c, _ := raw.(map[string]any)
		if c["type"] != of {
			continue
		}
		textOf := func(key string, limit int) string { v, _ := c[key].(string); return schema.Clean(v, limit) }
		read = metav1.Condition{Type: of, Status: metav1.ConditionStatus(textOf("status", 20)), Reason: textOf("reason", 100), Message: textOf("message", 1024)}
		read.LastTransitionTime, _ = TimeOf(c["lastTransitionTime"])
		read.ObservedGeneration, _ = IntegerOf(c["observedGeneration"])
		return read
	}
	return read
}

// FirstTrue returns the first True condition among these types, read as ConditionOf does, or an empty one.
func FirstTrue(u *unstructured.Unstructured, of ...string) metav1.Condition {
	for _, t := range of {
		if c := ConditionOf(u, t); c.Status == metav1.ConditionTrue {
			return c
		}
	}
	return metav1.Condition{}
}

// TimeOf reads a time as the API writes it.
func TimeOf(raw any) (metav1.Time, bool) {
	v, ok := raw.(string)
	if !ok || len(v) > 64 {
		return metav1.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, v)
	return metav1.Time{Time: t.UTC()}, err == nil
}

// Spec checks an object of this resource except for spec and status, by the shape that WholeOf made, and enters spec. If ok is
// false there is no spec to read, which is reported. The caller calls Leave in either case.
func (r *Reader) Spec(of schema.Resource, whole *Shape, raw map[string]any) (spec map[string]any, ok bool) {
	r.identity(of, raw)
	for key, value := range raw {
		if whole.fields[key] == nil {
			r.Member(whole, raw, key, value, reflect.Value{})
		}
	}
	r.EnterField(whole, raw, "spec")
	switch spec := raw["spec"].(type) {
	case map[string]any:
		return spec, true
	case nil:
		r.Problem(schema.MissingField, "", "be set", Misspelt(raw, "spec"))
	default:
		r.NotAnObject(spec)
	}
	return nil, false
}

// identity checks that apiVersion and kind are those of the resource, and that the object has a name.
func (r *Reader) identity(of schema.Resource, raw map[string]any) {
	r.constant(raw, "apiVersion", of.APIVersion(), of.Group)
	r.constant(raw, "kind", of.Kind, of.Group)
	r.Enter("metadata")
	defer r.Leave()
	meta, ok := raw["metadata"].(map[string]any)
	if !ok && raw["metadata"] != nil {
		r.mismatch(object, raw["metadata"])
		return
	}
	r.Required(meta, "name")
	r.unknownMeta(meta)
	for _, key := range []string{"name", "namespace"} {
		if _, ok := meta[key].(string); !ok && meta[key] != nil {
			r.Enter(key)
			r.mismatch(text, meta[key])
			r.Leave()
		}
	}
}

// unknownMeta warns of fields that metadata does not have. An API server drops them silently.
func (r *Reader) unknownMeta(meta map[string]any) {
	s := shapeOf(reflect.TypeFor[metav1.ObjectMeta]())
	for key := range meta {
		if s.fields[key] == nil {
			r.EnterField(s, meta, key)
			r.unknown(s, key)
			r.Leave()
		}
	}
}

// constant checks a field that has only one valid value. A server always sets it; a file may lack it.
func (r *Reader) constant(raw map[string]any, key, want, group string) {
	r.Enter(key)
	defer r.Leave()
	switch v := raw[key].(type) {
	case nil:
	case string:
		if v == want {
			return
		}
		hint := ""
		if version, _ := strings.CutPrefix(v, group+"/"); strings.HasPrefix(version, "v1alpha") || strings.HasPrefix(version, "v1beta") {
			hint = "that version is no longer served"
		}
		r.Problem(schema.InvalidValue, schema.Quote(v), `be "`+want+`"`, hint)
	default:
		r.mismatch(text, v)
	}
}
