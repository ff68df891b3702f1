package lean

import (
	"bytes"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewUntyped makes an untyped client whose watches read an object in a third of the time. The library's go through its JSON eleven times:
// once for each of the wrappers, to see what kind it is, whether it is JSON, and where it ends. These go through it three times, and skip
// metadata.managedFields. All else is the same.
func NewUntyped(config *rest.Config) (dynamic.Interface, error) {
	c := dynamic.ConfigFor(config)
	c.NegotiatedSerializer = uncopiedJSON(c.NegotiatedSerializer)
	client, err := rest.UnversionedRESTClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("make the untyped client: %w", err)
	}
	return dynamic.New(client), nil
}

// untypedEvents reads the events of a watch in JSON.
type untypedEvents struct{ runtime.Serializer }

// Decode makes an event whose object still is a part of data, as eventReader does.
func (r untypedEvents) Decode(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	if event, ok := into.(*metav1.WatchEvent); ok {
		if kind, object := cutEvent(data); object != nil {
			event.Type, event.Object = string(kind), runtime.RawExtension{Raw: object}
			return event, nil, nil
		}
	}
	return r.Serializer.Decode(data, defaults, into)
}

// cutEvent splits an event that is written as API servers write it: {"type":"ADDED","object":{...}}. For any other it returns nothing.
// data is JSON.
func cutEvent(data []byte) (watch.EventType, []byte) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"`))
	if !ok {
		return "", nil
	}
	for _, kind := range [...]watch.EventType{watch.Modified, watch.Added, watch.Deleted, watch.Bookmark} {
		after, ok := bytes.CutPrefix(rest, []byte(kind+`","object":`))
		if !ok {
			continue
		}
		end := valueEnd(after)
		if end > 0 && after[0] == '{' && string(bytes.TrimSpace(after[end:])) == "}" {
			return kind, after[:end]
		}
	}
	return "", nil
}

// untypedObjects reads single objects in JSON.
type untypedObjects struct{ runtime.Serializer }

// Decode reads an object of a named group, into the given one if there is one. Lists, built-in kinds, a Status, and what
// is not an object at all are left to the library.
func (r untypedObjects) Decode(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	u, given := into.(*unstructured.Unstructured)
	if into != nil && !given {
		return r.library(data, defaults, into)
	}
	content := map[string]any{}
	if err := json.Unmarshal(withoutManagedFields(data), &content); err != nil || content["items"] != nil {
		return r.library(data, defaults, into)
	}
	kind, _ := content["kind"].(string)
	version, _ := content["apiVersion"].(string)
	gv, err := runtimeschema.ParseGroupVersion(version)
	if err != nil || kind == "" || !strings.Contains(version, "/") || gv.Version == "" {
		return r.Serializer.Decode(data, defaults, into)
	}
	if !given || u == nil {
		u = &unstructured.Unstructured{}
	}
	u.Object = content
	gvk := gv.WithKind(kind)
	return u, &gvk, nil
}

// library calls the library, and once more without what may be too deep for it.
func (r untypedObjects) library(data []byte, defaults *runtimeschema.GroupVersionKind, into runtime.Object) (runtime.Object, *runtimeschema.GroupVersionKind, error) {
	o, kind, err := r.Serializer.Decode(data, defaults, into)
	if err == nil {
		return o, kind, nil
	}
	if cut := Shallow(data); len(cut) < len(data) {
		return r.Serializer.Decode(cut, defaults, into)
	}
	return o, kind, err
}
