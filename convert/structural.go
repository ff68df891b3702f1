package convert

import (
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

// Schema is what the objects of one version of a custom resource must look like. Structural makes it from the structural schema of
// a CustomResourceDefinition. It finds positions, suggestions and words; package verdict has the decision of the API server's own
// library, and evaluates rules in CEL. It does not change, and may be used by several goroutines.
type Schema struct {
	Resource   schema.Resource
	namespaced bool
	status     bool // status is a subresource: the API server ignores it where an object is created
	scale      *apiextensionsv1.CustomResourceSubresourceScale
	root       *schemaNode
	metadata   *schemaNode
}

// Checked is the result of a check of a custom resource: it is well-formed if there are no problems. Warnings name what the API
// server would drop silently, or refuse in strict mode.
type Checked struct {
	Resource           schema.Resource
	Namespace, Name    string
	Problems, Warnings []schema.Problem
}

// Structural reads the schemas of all served versions of a custom resource. It is total: for a schema that is malformed, too large,
// or refers to itself it returns an error that says where.
func Structural(crd *apiextensionsv1.CustomResourceDefinition) (all []*Schema, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			all, err = nil, fmt.Errorf("read the schema: %s", schema.Clean(fmt.Sprint(cause), 200))
		}
	}()
	switch {
	case crd == nil:
		return nil, errors.New("there is no CustomResourceDefinition")
	case crd.Spec.Group == "":
		return nil, errors.New("spec.group: must be set")
	case crd.Spec.Names.Kind == "":
		return nil, errors.New("spec.names.kind: must be set")
	case crd.Spec.PreserveUnknownFields:
		return nil, errors.New("spec.preserveUnknownFields: must be false; x-kubernetes-preserve-unknown-fields in the schema says the same")
	}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		if !version.Served {
			continue
		}
		built, err := structuralVersion(crd, version)
		if err != nil {
			return nil, fmt.Errorf("spec.versions[%d].%w", i, err)
		}
		all = append(all, built)
	}
	if len(all) == 0 {
		return nil, errors.New("spec.versions: must have one that is served")
	}
	return all, nil
}

func structuralVersion(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) (*Schema, error) {
	if version.Name == "" {
		return nil, errors.New("name: must be set")
	}
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, errors.New("schema.openAPIV3Schema: must be set")
	}
	s := &Schema{
		Resource:   schema.Resource{Group: crd.Spec.Group, Version: version.Name, Plural: crd.Spec.Names.Plural, Kind: crd.Spec.Names.Kind},
		namespaced: crd.Spec.Scope != apiextensionsv1.ClusterScoped,
	}
	if sub := version.Subresources; sub != nil {
		s.status, s.scale = sub.Status != nil, sub.Scale.DeepCopy()
	}
	var err error
	if s.root, err = structuralNode(version.Schema.OpenAPIV3Schema); err != nil {
		return nil, fmt.Errorf("schema.openAPIV3Schema%w", err)
	}
	s.metadata = metadataNode(true)
	return s, nil
}

// Check reports what is wrong with u. It is total: it returns for every input, never panics, gives the same result each time, does
// not change u and keeps nothing of it.
//
//	metadata  names, labels, owners                                         structural_meta.go
//	prepare   unknown fields left out, nulls and defaults as a server does  structural_prepare.go
//	inspect   does every value fit its schema                               structural_inspect.go, structural_value.go,
//	                                                                        structural_list.go, structural_junctor.go
func (s *Schema) Check(u *unstructured.Unstructured) (checked *Checked) {
	var raw map[string]any
	if u != nil {
		raw = u.Object
	}
	defer func() {
		if cause := recover(); cause != nil {
			checked = s.checked(raw)
			checked.Problems = []schema.Problem{{Code: schema.InvalidValue, Path: "spec",
				Found: "an object on which the check fails with " + schema.Quote(fmt.Sprint(cause)),
				Hint:  "this is a bug in stoic, not in the object; please report it"}}
		}
	}()
	checked = s.checked(raw)
	in := newInspection()
	in.whole(s, raw)
	if in.compared > compareLimit { // none may be made: the first ones would depend on the order of keys
		in = newInspection()
		in.compared = compareLimit
		in.whole(s, raw)
	}
	checked.Problems, checked.Warnings = in.problems.list(), in.warnings.list()
	if in.overspent() { // reported alone: what was seen before the limit depends on the order of keys
		checked.Warnings = nil
		checked.Problems = []schema.Problem{{Code: schema.TooLarge, Path: "spec", Found: "too many values to check", Want: "have fewer"}}
	}
	return checked
}

func (s *Schema) checked(raw map[string]any) *Checked {
	checked := &Checked{Resource: s.Resource}
	meta, _ := raw["metadata"].(map[string]any)
	checked.Namespace, _ = meta["namespace"].(string)
	checked.Name, _ = meta["name"].(string)
	return checked
}

// whole inspects an object from its root.
func (in *inspection) whole(s *Schema, raw map[string]any) {
	in.constant(raw, "apiVersion", s.Resource.APIVersion())
	in.constant(raw, "kind", s.Resource.Kind)
	prepared := in.members(s.root, raw, placement{root: true})
	in.Enter("metadata")
	metadata := orEmpty(in.prepare(s.metadata, raw["metadata"], placement{}))
	in.inspect(s.metadata, metadata)
	in.rootMetadata(s, metadata)
	in.Leave()
	prepared["apiVersion"], prepared["kind"], prepared["metadata"] = s.Resource.APIVersion(), s.Resource.Kind, generated(metadata)
	if s.status {
		delete(prepared, "status")
	}
	in.inspect(s.root, prepared)
	in.scale(s.scale, prepared)
}

// constant checks a field that identifies the object. A file may lack it.
func (in *inspection) constant(raw map[string]any, key, want string) {
	in.Enter(key)
	defer in.Leave()
	switch v := raw[key].(type) {
	case nil:
	case string:
		if v != want {
			in.Problem(schema.InvalidValue, schema.Quote(v), `be "`+want+`"`, "")
		}
	default:
		in.mismatch(text, v)
	}
}
