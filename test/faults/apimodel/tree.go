package apimodel

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// Trees are JSON values: nil, bool, int64, float64, string, []any, map[string]any. They share parts, so a tree in an object is
// never changed; unfold copies the parts that are about to be written.

func parse(body []byte) (map[string]any, error) {
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return tree, nil
}

// unfold copies the outermost map and the metadata.
func unfold(tree map[string]any) map[string]any {
	tree = maps.Clone(tree)
	meta, _ := tree["metadata"].(map[string]any)
	if meta = maps.Clone(meta); meta == nil {
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
	return &object{tree: tree, json: appendJSON(make([]byte, 0, 1024), tree), meta: meta}, nil
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if other, ok := b[k]; !ok || !equal(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// appendJSON writes keys in order, so that equal trees are equal texts.
func appendJSON(out []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case float64:
		return appendFloat(out, v)
	case string:
		return appendText(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendJSON(out, item)
		}
		return append(out, ']')
	case map[string]any:
		var room [16]string
		keys := room[:0]
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		out = append(out, '{')
		for i, k := range keys {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendText(out, k), ':')
			out = appendJSON(out, v[k])
		}
		return append(out, '}')
	}
	panic(fmt.Sprintf("%T is no JSON value", value))
}

func appendFloat(out []byte, v float64) []byte {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return append(out, "null"...)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("write %v: %v", v, err))
	}
	return append(out, text...)
}

func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text, err := json.Marshal(s)
			if err != nil {
				panic(fmt.Sprintf("write %q: %v", s, err))
			}
			return append(out, text...)
		}
	}
	out = append(out, '"')
	out = append(out, s...)
	return append(out, '"')
}

// typeError reports a field of the wrong type.
type typeError struct{ path, want string }

func (e *typeError) Error() string { return e.path + " is no " + e.want }

// readMeta reads the metadata that the server uses.
func readMeta(tree map[string]any) (*metav1.ObjectMeta, error) {
	r := &reader{tree: tree}
	m := &metav1.ObjectMeta{Name: r.text("name"), GenerateName: r.text("generateName"), Namespace: r.text("namespace"),
		UID: types.UID(r.text("uid")), ResourceVersion: r.text("resourceVersion"),
		Labels: r.texts("labels"), Annotations: r.texts("annotations"), Finalizers: r.list("finalizers")}
	m.Generation, _ = r.number("generation")
	if created := r.time("creationTimestamp"); created != nil {
		m.CreationTimestamp = *created
	}
	m.DeletionTimestamp = r.time("deletionTimestamp")
	if seconds, set := r.number("deletionGracePeriodSeconds"); set {
		m.DeletionGracePeriodSeconds = &seconds
	}
	m.OwnerReferences = r.owners()
	return m, r.err
}

// reader reads fields and keeps the first error.
type reader struct {
	tree map[string]any
	path string
	err  error
}

func (r *reader) fail(field, want string) {
	if r.err == nil {
		r.err = &typeError{"metadata." + r.path + field, want}
	}
}

func (r *reader) text(field string) string {
	text, ok := r.tree[field].(string)
	if !ok && r.tree[field] != nil {
		r.fail(field, "text")
	}
	return text
}

func (r *reader) flag(field string) *bool {
	flag, ok := r.tree[field].(bool)
	if !ok {
		if r.tree[field] != nil {
			r.fail(field, "boolean")
		}
		return nil
	}
	return &flag
}

func (r *reader) number(field string) (int64, bool) {
	number, ok := r.tree[field].(int64)
	if !ok && r.tree[field] != nil {
		r.fail(field, "integer")
	}
	return number, ok
}

func (r *reader) time(field string) *metav1.Time {
	text := r.text(field)
	if text == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.fail(field, "time")
		return nil
	}
	return &metav1.Time{Time: t}
}

func (r *reader) texts(field string) map[string]string {
	values, ok := r.tree[field].(map[string]any)
	if !ok {
		if r.tree[field] != nil {
			r.fail(field, "map of texts")
		}
		return nil
	}
	texts := make(map[string]string, len(values))
	for k, v := range values {
		text, ok := v.(string)
		if !ok && v != nil {
			r.fail(field, "map of texts")
		}
		texts[k] = text
	}
	return texts
}

func (r *reader) list(field string) []string {
	values, ok := r.tree[field].([]any)
	if !ok && r.tree[field] != nil {
		r.fail(field, "list of texts")
	}
	var texts []string
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			r.fail(field, "list of texts")
		}
		texts = append(texts, text)
	}
	return texts
}

func (r *reader) owners() []metav1.OwnerReference {
	values, ok := r.tree["ownerReferences"].([]any)
	if !ok && r.tree["ownerReferences"] != nil {
		r.fail("ownerReferences", "list")
	}
	var owners []metav1.OwnerReference
	for _, v := range values {
		tree, ok := v.(map[string]any)
		if !ok {
			r.fail("ownerReferences", "list of objects")
		}
		o := &reader{tree: tree, path: "ownerReferences."}
		owners = append(owners, metav1.OwnerReference{APIVersion: o.text("apiVersion"), Kind: o.text("kind"), Name: o.text("name"),
			UID: types.UID(o.text("uid")), Controller: o.flag("controller"), BlockOwnerDeletion: o.flag("blockOwnerDeletion")})
		if r.err == nil {
			r.err = o.err
		}
	}
	return owners
}
