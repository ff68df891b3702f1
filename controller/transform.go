package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"stoic/convert"
	"stoic/schema"
)

// Converter tells what a raw object is; see convert.Object for what it promises.
type Converter func(*schema.Kind, *unstructured.Unstructured) *convert.Result

// converting is the informer's transform. What client-go does with its answers makes its contract strict:
//
//	it returns                   client-go                                        so it
//	an error                     never syncs the informer                         returns nil, always
//	nil, no metadata             drops the whole initial list without a word      always returns metadata
//	(it panics)                  ends the process                                 recovers
//	its own output is passed in  a streamed list goes through it twice            passes it on
func converting(kind *schema.Kind, convertObject Converter) cache.TransformFunc {
	return func(obj any) (any, error) {
		raw, ok := obj.(*unstructured.Unstructured)
		if !ok {
			if _, ok := obj.(metav1.ObjectMetaAccessor); ok {
				return obj, nil
			}
			return unreadable(kind, nil, fmt.Sprintf("an object of type %T", obj)), nil
		}
		return converted(kind, convertObject, raw), nil
	}
}

// converted is what a converter says of an object, or what is said of an object that the converter fails on.
func converted(kind *schema.Kind, convertObject Converter, raw *unstructured.Unstructured) (found *convert.Result) {
	defer func() {
		if p := recover(); p != nil {
			found = unreadable(kind, raw, "an object that the converter failed on: "+schema.Clean(fmt.Sprint(p), 200))
		}
	}()
	if found = convertObject(kind, raw); found != nil && found.Head != nil {
		return found
	}
	return unreadable(kind, raw, "an object that the converter had no answer for")
}

// unreadable stands in for an object that defeated the converter itself. The fault is ours, and the author is
// told so; the object keeps its name so that it hides no other.
func unreadable(kind *schema.Kind, raw *unstructured.Unstructured, found string) *convert.Result {
	head := &schema.Head{Kind: kind}
	if raw != nil && raw.Object != nil {
		if meta, ok := raw.Object["metadata"].(map[string]any); ok {
			text := func(field string) string { s, _ := meta[field].(string); return s }
			head.Meta.Name, head.Meta.Namespace = text("name"), text("namespace")
			head.Meta.UID, head.Meta.ResourceVersion = uid(text("uid")), text("resourceVersion")
			head.Meta.Generation, _ = meta["generation"].(int64)
		}
	}
	return &convert.Result{Head: head, Rejection: &schema.Rejection{Head: head, Problems: []schema.Problem{{
		Code: schema.InvalidValue, Path: "spec", Found: found, Want: "be readable",
		Hint: "this is a defect of the operator; please report it",
	}}}}
}
