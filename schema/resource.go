package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Resource names an API resource: that of an object that is reconciled, or of its children.
type Resource struct {
	Group, Version, Plural, Kind string
	// Cluster: its objects are cluster-scoped.
	Cluster bool
}

// Pods returns the pods of the core group.
func Pods() Resource { return Resource{Version: "v1", Plural: "pods", Kind: "Pod"} }

// Services returns the services of the core group.
func Services() Resource { return Resource{Version: "v1", Plural: "services", Kind: "Service"} }

// ConfigMaps returns the ConfigMaps of the core group.
func ConfigMaps() Resource { return Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap"} }

// Secrets returns the Secrets of the core group.
func Secrets() Resource { return Resource{Version: "v1", Plural: "secrets", Kind: "Secret"} }

// Jobs returns the Jobs of batch/v1.
func Jobs() Resource {
	return Resource{Group: "batch", Version: "v1", Plural: "jobs", Kind: "Job"}
}

// Deployments returns the Deployments of apps/v1.
func Deployments() Resource {
	return Resource{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment"}
}

// Object is one object to create. Body is the exact JSON that is posted, except for generated fields.
type Object struct {
	Resource  Resource
	Namespace string
	Name      string
	Body      []byte
	// Shared: an existing object of that name that does not belong to the owner serves as well, and is never changed. Shared has an
	// effect only for optional resources.
	Shared bool
	// Generate names the generator of fields that a plan may not hold, such as a private key; see Owned.Generators. It is called
	// when the object is created, and its result is neither kept nor logged. "": nothing is generated.
	Generate string
}

// APIVersion returns group and version in the form of objects.
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// OwnerText returns the text that names an owner in an annotation of its dependents, where an owner reference may not be used:
//
//	test.example.com/v1 FooBar team-a/web 5b2c9d1e-...
func OwnerText(head *Head) string {
	return head.Resource.APIVersion() + " " + head.Resource.Kind + " " + head.Key() + " " + string(head.Meta.UID)
}

// ChildMeta returns the metadata of a child to create. It names the owner by an owner reference if owner.Reaches(namespace), and
// otherwise by this annotation, which must be that of Owned.OwnerAnnotation.
func ChildMeta(owner *Head, namespace, name string, labels map[string]string, annotation string) map[string]any {
	meta := map[string]any{"name": name, "namespace": namespace, "labels": labels}
	if owner.Reaches(namespace) {
		meta["ownerReferences"] = []metav1.OwnerReference{OwnerReference(owner)}
	} else {
		meta["annotations"] = map[string]string{annotation: OwnerText(owner)}
	}
	return meta
}

// ParseOwnerText is the inverse of OwnerText. ok is false for a text that OwnerText never returns.
func ParseOwnerText(text string) (apiVersion, kind, namespace, name string, uid types.UID, ok bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 4 || parts[3] == "" {
		return "", "", "", "", "", false
	}
	namespace, name, ok = strings.Cut(parts[2], "/")
	return parts[0], parts[1], namespace, name, types.UID(parts[3]), ok && name != "" && parts[0] != "" && parts[1] != ""
}

// NewChild returns a child to create, with the metadata of ChildMeta. Fields are the rest of its body. In their metadata they may
// set labels, annotations and finalizers, as a map[string]any; with others NewChild panics.
func NewChild(owner *Head, r Resource, namespace, name string, labels map[string]string, annotation string, fields map[string]any) Object {
	meta := ChildMeta(owner, namespace, name, labels, annotation)
	for key, value := range metadataIn(fields) {
		meta[key] = merged(value, meta[key])
	}
	body := map[string]any{}
	maps.Copy(body, fields)
	body["apiVersion"], body["kind"], body["metadata"] = r.APIVersion(), r.Kind, meta
	return Object{Resource: r, Namespace: namespace, Name: name, Body: JSON(body)}
}

// metadataIn returns the metadata among the fields of a body. It panics on all but labels, annotations and finalizers.
func metadataIn(fields map[string]any) map[string]any {
	allowed := []string{"labels", "annotations", "finalizers"}
	raw, found := fields["metadata"]
	meta, ok := raw.(map[string]any)
	if found && !ok {
		panic(fmt.Sprintf("metadata: found %T, must be a map[string]any", raw))
	}
	for key := range meta {
		if !slices.Contains(allowed, key) {
			panic(fmt.Sprintf("metadata: found %q, must be one of %s", key, strings.Join(allowed, ", ")))
		}
	}
	return meta
}

// merged returns value with the entries of set. Where both have a key, set counts.
func merged(value, set any) any {
	own, ok := set.(map[string]string)
	if !ok {
		return value
	}
	all := map[string]any{}
	if err := json.Unmarshal(JSON(value), &all); err != nil {
		panic(fmt.Sprintf("metadata: found %T, must be a map of texts", value))
	}
	for key, text := range own {
		all[key] = text
	}
	return all
}
