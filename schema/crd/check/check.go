package check

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"stoic/schema"
)

// problems are collected here.
type problems []schema.Problem

func (p *problems) add(code schema.Code, path, found, want, hint string) {
	*p = append(*p, schema.Problem{Code: code, Path: schema.Clean(path, 1000), Found: schema.Clean(found, 300), Want: schema.Clean(want, 400), Hint: schema.Clean(hint, 400)})
}

// All reports what API servers accept of a definition although it hurts, what they refuse outside of the schemas, and what is not
// structural. It has a result for any definition, and changes nothing.
func All(crd *crdv1.CustomResourceDefinition, evaluate Evaluate) (found []schema.Problem) {
	var p problems
	p.definition(crd)
	for i := range crd.Spec.Versions {
		v := version{CustomResourceDefinitionVersion: &crd.Spec.Versions[i], at: fmt.Sprintf("spec.versions[%d]", i)}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue // which definition reports
		}
		v.root = v.Schema.OpenAPIV3Schema
		p.structure(v)
		if !v.Served {
			continue // no API server creates or checks an object of it
		}
		p.status(v)
		p.lists(v)
		p.rules(v, evaluate)
		p.unknown(v)
		p.paths(v)
	}
	p.versions(crd)
	return p
}

// version is a version of a definition that has a schema, and its path.
type version struct {
	*crdv1.CustomResourceDefinitionVersion
	at   string
	root *crdv1.JSONSchemaProps
}

func (v version) schemaAt() string { return v.at + ".schema.openAPIV3Schema" }

// structure runs the API server's own check for structural schemas.
func (p *problems) structure(v version) {
	props := new(apiextensions.JSONSchemaProps)
	if err := crdv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.root, props, nil); err != nil {
		p.add(NotStructural, v.schemaAt(), "a schema that cannot be read: "+err.Error(), "", "")
		return
	}
	s, err := structural.NewStructural(props)
	if err != nil {
		p.add(NotStructural, v.schemaAt(), "", "be structural: "+err.Error(), "")
		return
	}
	for _, e := range structural.ValidateStructural(nil, s) {
		p.add(NotStructural, v.schemaAt()+"."+KubectlPath(e.Field), "", strings.TrimPrefix(says(e), "must "), "")
	}
}

func says(e *field.Error) string {
	if e.Type == field.ErrorTypeRequired && e.Detail == "" {
		return "be set"
	}
	return e.Detail
}

// annotationLimit is the size of all annotations of an object together, in bytes.
const annotationLimit = 256 * 1024

// Size reports a definition that is too large for the annotation of a plain kubectl apply. Document is the file's content.
func Size(document map[string]any) []schema.Problem {
	text, err := json.Marshal(document) // which escapes <, > and &, as kubectl does
	if err != nil {
		return nil // it was JSON before
	}
	var p problems
	if size := len("kubectl.kubernetes.io/last-applied-configuration") + len(text) + 1; size > annotationLimit {
		p.add(TooLargeForApply, "metadata", fmt.Sprintf("a definition of %d bytes", size), fmt.Sprintf("have at most %d for a plain kubectl apply", annotationLimit), "")
	}
	return p
}

// status reports what an operator lacks to write a status. A kind that has no status needs none.
func (p *problems) status(v version) {
	status, described := v.root.Properties["status"]
	subresource := v.Subresources != nil && v.Subresources.Status != nil
	switch {
	case described && !subresource:
		p.add(NoStatusSubresource, v.at, "a status, but no status subresource", "have one", "add subresources: {status: {}}")
	case subresource && !described && !keeps(v.root):
		p.add(NoStatusSchema, v.schemaAt()+".properties", "a status subresource, but no status", "describe the status, if the operator writes one", "API servers drop what is written there")
	case described && !keeps(&status) && !observed(&status):
		p.add(NoObservedGeneration, v.schemaAt()+".properties.status", "conditions without an observedGeneration", "have one in the status or in each condition, of type integer", "")
	}
}

// observed reports whether a status has no conditions, or says for which generation they are.
func observed(status *crdv1.JSONSchemaProps) bool {
	conditions, ok := status.Properties["conditions"]
	if _, there := status.Properties["observedGeneration"]; !ok || there {
		return true
	}
	if conditions.Items == nil || conditions.Items.Schema == nil {
		return true // they are no list of conditions
	}
	_, ok = conditions.Items.Schema.Properties["observedGeneration"]
	return ok || keeps(conditions.Items.Schema)
}

// keeps reports whether a node keeps unknown fields.
func keeps(node *crdv1.JSONSchemaProps) bool {
	return node.XPreserveUnknownFields != nil && *node.XPreserveUnknownFields
}

func (p *problems) unknown(v version) {
	if keeps(v.root) {
		p.add(UnknownFieldsKept, v.schemaAt()+".x-kubernetes-preserve-unknown-fields", "true for the whole object", "be set on the fields that need it alone", "")
	}
}

func (p *problems) lists(v version) {
	visitOwn(v.root, v.schemaAt(), func(node *crdv1.JSONSchemaProps, at string) {
		if node.Type != "array" || node.XListType != nil || strings.HasSuffix(at, ".metadata.properties.finalizers") {
			return // those of embedded metadata are written by generators, and not by authors
		}
		hint := "add x-kubernetes-list-type: atomic if that is meant, or set"
		if node.Items != nil && node.Items.Schema != nil && node.Items.Schema.Type == "object" {
			hint = "add x-kubernetes-list-type: map and x-kubernetes-list-map-keys, or atomic if that is meant"
		}
		p.add(ListReplaced, at, "a list without x-kubernetes-list-type", "say how it is merged", hint)
	})
}

// versions reports versions of which one has fields that another lacks, and no conversion between them.
func (p *problems) versions(crd *crdv1.CustomResourceDefinition) {
	if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy != crdv1.NoneConverter {
		return
	}
	var first *crdv1.CustomResourceDefinitionVersion
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Storage {
			first = v
		}
	}
	if first == nil || first.Schema == nil {
		return
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v == first || !v.Served || v.Schema == nil || !different(first.Schema.OpenAPIV3Schema, v.Schema.OpenAPIV3Schema) {
			continue
		}
		p.add(VersionsDiffer, fmt.Sprintf("spec.versions[%d].schema", i), fmt.Sprintf("other fields than in %s, and no conversion", schema.Quote(first.Name)),
			"have the same ones, or a conversion", "")
	}
}

// different reports whether one of two schemas has fields that the other drops.
func different(a, b *crdv1.JSONSchemaProps) bool {
	if a == nil || b == nil {
		return a != b
	}
	return !reflect.DeepEqual(fieldsOf(a), fieldsOf(b))
}

// fieldsOf returns the paths of all fields of a schema.
func fieldsOf(root *crdv1.JSONSchemaProps) map[string]bool {
	fields := map[string]bool{}
	visit(root, "", func(node *crdv1.JSONSchemaProps, at string) {
		fields[at] = true
		if keeps(node) {
			fields[at+" and all others"] = true
		}
	})
	return fields
}
