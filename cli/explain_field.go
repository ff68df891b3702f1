package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"

	"stoic/deploy"
	"stoic/training"
	"stoic/training/kinds"
)

// manual is what is known of the fields of a kind: from the CRD, and what the operator does when they are omitted.
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

// readManuals reads those of an API version, or of all versions if it is empty. A path that begins with the name of a kind is about no other
// kind: then the others are not read, as each takes tens of milliseconds.
func readManuals(path, version string) ([]*manual, error) {
	chosen := slices.DeleteFunc(slices.Clone(kinds.Served()), func(k *training.Kind) bool { return version != "" && k.APIVersion() != version })
	if steps := stepsOf(path); len(steps) > 0 {
		others := func(k *training.Kind) bool { return !(&manual{kind: k}).isCalled(steps[0]) }
		if named := slices.DeleteFunc(slices.Clone(chosen), others); len(named) > 0 {
			chosen = named
		}
	}
	all := make([]*manual, len(chosen))
	var reading errgroup.Group
	for i, kind := range chosen {
		reading.Go(func() (err error) {
			if all[i], err = readManual(kind); err != nil {
				return fmt.Errorf("read the built-in CRD of %s: %w", kind.Name, err)
			}
			return nil
		})
	}
	return all, reading.Wait()
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
			root.Properties["metadata"] = metadata(kind)
			return &manual{kind: kind, short: crd.Spec.Names.ShortNames, root: root}, nil
		}
	}
	return nil, fmt.Errorf("it has no version %s", kind.Version)
}

// metadata returns a description of metadata, which is the same in every kind. It has the fields that users write.
func metadata(kind *training.Kind) *field {
	words := &field{Type: "object", AdditionalProperties: &field{Type: "string"}}
	name := "Name of the job, and the beginning of the names of its pods and services: those have at most 63 characters, lower-case letters, digits and -."
	if !kind.HasServices() {
		name = "Name of the job, and the beginning of the names of its pods: it has at most 63 characters, lower-case letters, digits, - and dots."
	}
	labels, annotations := *words, *words
	labels.Description, annotations.Description = "Labels of the job. Its pods have those of their template.", "Annotations of the job."
	return &field{Type: "object", Description: "What the job is called.", Required: []string{"name"}, Properties: map[string]*field{
		"name":        {Type: "string", Description: name},
		"namespace":   {Type: "string", Description: "Where the job and its pods are."},
		"labels":      &labels,
		"annotations": &annotations,
	}}
}

// isCalled reports whether a word names the kind: TFJob, tfjob, tfjobs or a short name, in any case.
func (m *manual) isCalled(word string) bool {
	return slices.ContainsFunc(append([]string{m.kind.Name, m.kind.Singular, m.kind.Plural}, m.short...),
		func(name string) bool { return strings.EqualFold(name, word) })
}

// fallback returns what the operator does without the field, if that is recorded.
func (m *manual) fallback(path string) training.Default {
	for _, d := range m.kind.Defaults() {
		if d.Path == path {
			return d
		}
	}
	return training.Default{}
}

// below returns what has the fields: the items of a list, the values of a map, or the field itself.
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

// kind returns the type as kubectl explain writes it.
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
