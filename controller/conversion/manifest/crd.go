package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"sigs.k8s.io/yaml"

	"stoic/convert/versions"
)

// CRD returns the CRD of the stored version with all versions of the kind, which are served, and with the webhook that converts them. The
// schema of a version is derived from that of the stored version and from its table: a field that has moved is described at its new
// place, and a field that only the stored version has is left out. A field that only this version has may be anything, and pod templates
// are not described: see Thin. A version among others has a schema of its own, which is taken as it is. The arguments are not changed.
func CRD(stored *crdv1.CustomResourceDefinition, kind versions.Kind, webhook crdv1.WebhookClientConfig, others ...crdv1.CustomResourceDefinitionVersion) (*crdv1.CustomResourceDefinition, error) {
	if _, err := kind.Converter(); err != nil {
		return nil, err
	}
	if stored.Spec.Group != kind.Group || stored.Spec.Names.Kind != kind.Name || len(stored.Spec.Versions) != 1 || stored.Spec.Versions[0].Name != kind.Hub {
		return nil, fmt.Errorf("the CRD %s is not that of version %s of kind %s of group %s alone", stored.Name, kind.Hub, kind.Name, kind.Group)
	}
	crd := stored.DeepCopy()
	for _, table := range kind.Versions {
		i := slices.IndexFunc(others, func(o crdv1.CustomResourceDefinitionVersion) bool { return o.Name == table.Name })
		if i >= 0 {
			other := *others[i].DeepCopy()
			other.Served, other.Storage = true, false
			crd.Spec.Versions = append(crd.Spec.Versions, other)
			continue
		}
		derived, err := derive(&stored.Spec.Versions[0], table)
		if err != nil {
			return nil, fmt.Errorf("version %s of %s: %w", table.Name, kind.Name, err)
		}
		crd.Spec.Versions = append(crd.Spec.Versions, *derived)
	}
	crd.Spec.Conversion = &crdv1.CustomResourceConversion{Strategy: crdv1.WebhookConverter,
		Webhook: &crdv1.WebhookConversion{ClientConfig: &webhook, ConversionReviewVersions: []string{"v1"}}}
	return crd, nil
}

// Patch returns what CRD adds to the CRD of the stored version, as a JSON patch in YAML: small enough for a component of kustomize.
func Patch(stored *crdv1.CustomResourceDefinition, kind versions.Kind, webhook crdv1.WebhookClientConfig, others ...crdv1.CustomResourceDefinitionVersion) ([]byte, error) {
	crd, err := CRD(stored, kind, webhook, others...)
	if err != nil {
		return nil, err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var all []operation
	for _, v := range crd.Spec.Versions[1:] {
		all = append(all, operation{"add", "/spec/versions/-", v})
	}
	text, err := yaml.Marshal(append(all, operation{"add", "/spec/conversion", crd.Spec.Conversion}))
	if err != nil {
		return nil, fmt.Errorf("write a patch of the CRD %s: %w", stored.Name, err)
	}
	return text, nil
}

// Thin removes from a schema what is below an object that preserves unknown fields, such as a pod template. The API server validates
// objects of the stored version there, as does the operator that serves them; four descriptions of pods would not fit into one CRD.
func Thin(node *crdv1.JSONSchemaProps) {
	if keeps := node.XPreserveUnknownFields; keeps != nil && *keeps && node.Type == "object" {
		node.Properties, node.Required, node.XValidations = nil, nil, nil
	}
	below(node, Thin)
}

// WithoutDefaults removes the defaults from a schema. API servers write those of the version of a request: an object of another version
// that is edited in this one would get them, as if its user had set them.
func WithoutDefaults(node *crdv1.JSONSchemaProps) {
	node.Default = nil
	below(node, WithoutDefaults)
}

// below calls change for the schemas of the properties, of all other properties, and of items.
func below(node *crdv1.JSONSchemaProps, change func(*crdv1.JSONSchemaProps)) {
	for name, child := range node.Properties {
		change(&child)
		node.Properties[name] = child
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		change(node.AdditionalProperties.Schema)
	}
	if node.Items != nil && node.Items.Schema != nil {
		change(node.Items.Schema)
	}
}

// derive returns a version whose schema is derived from that of the hub.
func derive(hub *crdv1.CustomResourceDefinitionVersion, table versions.Version) (*crdv1.CustomResourceDefinitionVersion, error) {
	v := hub.DeepCopy()
	v.Name, v.Served, v.Storage = table.Name, true, false
	if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
		return nil, errors.New("the stored version has no schema")
	}
	root := v.Schema.OpenAPIV3Schema
	if err := relocate(root, table); err != nil {
		return nil, err
	}
	relocation(table).apply(v)
	Thin(root)
	return v, nil
}

// relocate moves and removes the properties of a schema as the table says.
func relocate(root *crdv1.JSONSchemaProps, table versions.Version) error {
	var wrong []error
	moved := make([]*property, len(table.Moves))
	for i, m := range table.Moves {
		if m.Here == m.Hub {
			continue
		}
		if moved[i] = take(root, m.Hub); moved[i] == nil {
			wrong = append(wrong, fmt.Errorf("the stored version does not describe %s", m.Hub))
		}
	}
	for _, place := range table.HubOnly {
		if take(root, place) == nil {
			wrong = append(wrong, fmt.Errorf("the stored version does not describe %s", place))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for i, m := range table.Moves {
		if moved[i] != nil {
			if m.Default != nil && moved[i].schema.Default != nil {
				text, err := json.Marshal(m.Default)
				if err != nil {
					return fmt.Errorf("write the default of %s: %w", m.Here, err)
				}
				moved[i].schema.Default = &crdv1.JSON{Raw: text}
			}
			moved[i].required = moved[i].required && parentOf(m.Here) == parentOf(m.Hub)
			put(root, m.Here, *moved[i])
		}
	}
	for _, place := range table.Only {
		anything := true
		put(root, place, property{schema: crdv1.JSONSchemaProps{XPreserveUnknownFields: &anything}})
	}
	return nil
}

// property of an object: its schema, and whether it must be there.
type property struct {
	schema   crdv1.JSONSchemaProps
	required bool
}

func parentOf(place string) string { return place[:max(strings.LastIndex(place, "."), 0)] }

// take removes a property from a schema and returns it; nil if there is none.
func take(root *crdv1.JSONSchemaProps, place string) *property {
	name, below, more := strings.Cut(place, ".")
	child, ok := root.Properties[name]
	if !ok {
		return nil
	}
	if more {
		found := take(&child, below)
		root.Properties[name] = child
		return found
	}
	delete(root.Properties, name)
	required := slices.Contains(root.Required, name)
	root.Required = slices.DeleteFunc(root.Required, func(r string) bool { return r == name })
	return &property{child, required}
}

// put adds a property to a schema, and the objects that lead to it.
func put(root *crdv1.JSONSchemaProps, place string, p property) {
	name, below, more := strings.Cut(place, ".")
	if root.Properties == nil {
		root.Properties = map[string]crdv1.JSONSchemaProps{}
	}
	if !more {
		root.Properties[name] = p.schema
		if p.required {
			root.Required = append(root.Required, name)
			slices.Sort(root.Required)
		}
		return
	}
	child, ok := root.Properties[name]
	if !ok {
		child = crdv1.JSONSchemaProps{Type: "object"}
	}
	put(&child, below, p)
	root.Properties[name] = child
}

// relocated says where in a version the fields are that other parts of a CRD name.
type relocated struct {
	to   map[string]string // by the place in the hub; "" if the version has none
	word *regexp.Regexp    // the last keys of these places
}

func relocation(table versions.Version) relocated {
	r := relocated{to: map[string]string{}}
	for _, place := range table.HubOnly {
		r.to[place] = ""
	}
	for _, m := range table.Moves {
		if m.Here != m.Hub {
			r.to[m.Hub] = m.Here
		}
	}
	words := []string{`\z\A`} // nothing
	for _, place := range slices.Sorted(maps.Keys(r.to)) {
		words = append(words, regexp.QuoteMeta(place[strings.LastIndex(place, ".")+1:]))
	}
	r.word = regexp.MustCompile(`\b(` + strings.Join(words, "|") + `)\b`)
	return r
}

// of returns the longest place that a path leads to or through; "" if the path is the same in the version.
func (r relocated) of(path string) (found string) {
	for place := range r.to {
		if p := strings.TrimPrefix(path, "."); (p == place || strings.HasPrefix(p, place+".") || strings.HasPrefix(p, place+"[")) && len(place) > len(found) {
			found = place
		}
	}
	return found
}

// keeps reports whether the version has the field that a path leads to.
func (r relocated) keeps(path string) bool {
	place := r.of(path)
	return place == "" || r.to[place] != ""
}

func (r relocated) path(path *string) {
	if place := r.of(*path); place != "" {
		*path = "." + r.to[place] + strings.TrimPrefix(*path, "."+place)
	}
}

// rules removes the rules that mention fields which have moved, as an API server would refuse the CRD. The rules of the stored version do
// not apply to objects that are written in another one.
func (r relocated) rules(node *crdv1.JSONSchemaProps) {
	node.XValidations = slices.DeleteFunc(node.XValidations, func(rule crdv1.ValidationRule) bool {
		return r.word.MatchString(rule.Rule) || r.word.MatchString(rule.MessageExpression) || r.word.MatchString(rule.FieldPath)
	})
	for name, child := range node.Properties {
		r.rules(&child)
		node.Properties[name] = child
	}
}

// apply adapts the other parts of a version: rules, columns, selectable fields, the scale subresource.
func (r relocated) apply(v *crdv1.CustomResourceDefinitionVersion) {
	r.rules(v.Schema.OpenAPIV3Schema)
	v.AdditionalPrinterColumns = slices.DeleteFunc(v.AdditionalPrinterColumns, func(c crdv1.CustomResourceColumnDefinition) bool { return !r.keeps(c.JSONPath) })
	for i := range v.AdditionalPrinterColumns {
		r.path(&v.AdditionalPrinterColumns[i].JSONPath)
	}
	v.SelectableFields = slices.DeleteFunc(v.SelectableFields, func(f crdv1.SelectableField) bool { return !r.keeps(f.JSONPath) })
	for i := range v.SelectableFields {
		r.path(&v.SelectableFields[i].JSONPath)
	}
	if s := v.Subresources; s != nil && s.Scale != nil {
		if !r.keeps(s.Scale.SpecReplicasPath) || !r.keeps(s.Scale.StatusReplicasPath) {
			s.Scale = nil
		} else {
			r.path(&s.Scale.SpecReplicasPath)
			r.path(&s.Scale.StatusReplicasPath)
			if p := s.Scale.LabelSelectorPath; p != nil && r.keeps(*p) {
				r.path(p)
			} else {
				s.Scale.LabelSelectorPath = nil
			}
		}
	}
}
