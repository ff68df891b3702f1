package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"stoic/deploy"
	"stoic/training"
	"stoic/training/kinds"
)

// manual is what is known of the fields of a kind: what the CRD says of them, and what the operator does without them.
type manual struct {
	kind  *training.Kind
	short []string // further names of the kind
	root  *field
}

// field is one node of a CRD's schema, as far as it is of interest to users.
type field struct {
	Type, Description    string
	Enum                 []any
	Default              any
	Minimum, Maximum     *float64
	Properties           map[string]*field
	Items                *field
	AdditionalProperties *field
	Required             []string
	IntOrString          bool                       `json:"x-kubernetes-int-or-string"`
	Rules                []struct{ Message string } `json:"x-kubernetes-validations"`
}

func readManuals() ([]*manual, error) {
	var all []*manual
	for _, kind := range kinds.Served() {
		m, err := readManual(kind)
		if err != nil {
			return nil, fmt.Errorf("read the built-in CRD of %s: %w", kind.Name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

func readManual(kind *training.Kind) (*manual, error) {
	text, err := deploy.CRD(kind.Plural, kind.Singular, kind.Version)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Names    struct{ ShortNames []string }
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema *field }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	for _, version := range crd.Spec.Versions {
		if root := version.Schema.OpenAPIV3Schema; version.Name == kind.Version && root != nil {
			root.Properties["metadata"] = metadata()
			return &manual{kind: kind, short: crd.Spec.Names.ShortNames, root: root}, nil
		}
	}
	return nil, fmt.Errorf("it has no version %s", kind.Version)
}

// metadata is the same in every kind, and a CRD may not describe it. These are the fields that an author writes.
func metadata() *field {
	words := &field{Type: "object", AdditionalProperties: &field{Type: "string"}}
	labels, annotations := *words, *words
	labels.Description, annotations.Description = "Labels of the job. Its pods have those of their template.", "Annotations of the job."
	return &field{Type: "object", Description: "What the job is called.", Required: []string{"name"}, Properties: map[string]*field{
		"name":        {Type: "string", Description: "Name of the job, and the beginning of the names of its pods and services: those have at most 63 characters, lower-case letters, digits and -."},
		"namespace":   {Type: "string", Description: "Where the job and its pods are."},
		"labels":      &labels,
		"annotations": &annotations,
	}}
}

// isCalled: TFJob, tfjob, tfjobs or a short name, in any case.
func (m *manual) isCalled(word string) bool {
	return slices.ContainsFunc(append([]string{m.kind.Name, m.kind.Singular, m.kind.Plural}, m.short...),
		func(name string) bool { return strings.EqualFold(name, word) })
}

// fallback is what the operator does about the field, if that is on record.
func (m *manual) fallback(path string) training.Default {
	for _, d := range m.kind.Defaults() {
		if d.Path == path {
			return d
		}
	}
	return training.Default{}
}

// below is what has the fields: the items of a list, the values of a map, or the field itself.
func (f *field) below() *field {
	for {
		switch {
		case f.Items != nil:
			f = f.Items
		case f.AdditionalProperties != nil:
			f = f.AdditionalProperties
		default:
			return f
		}
	}
}

func (f *field) names() []string { return slices.Sorted(maps.Keys(f.Properties)) }

// kind is the type as kubectl explain writes it.
func (f *field) kind() string {
	inner := func(f *field) string { return strings.Trim(f.kind(), "<>") }
	switch {
	case f.Items != nil:
		return "<[]" + inner(f.Items) + ">"
	case f.AdditionalProperties != nil:
		return "<map[string]" + inner(f.AdditionalProperties) + ">"
	case f.IntOrString:
		return "<integer or string>"
	case f.Type == "" || f.Type == "object":
		return "<Object>"
	}
	return "<" + f.Type + ">"
}
