package check

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// Against reports which objects that the old definition allows the new one would reject or prune. A version is compared with the
// old version of its name. If that does not exist, and there is no conversion, it is compared with the old storage version. New rules
// are evaluated on values that the old schema allows; anyOf, oneOf, allOf and not are only reported as new: what they allow is not
// computed.
func Against(crd, old *crdv1.CustomResourceDefinition, evaluate Evaluate) []schema.Problem {
	var p changes
	p.evaluate = evaluate
	if crd.Spec.Group != old.Spec.Group || crd.Spec.Names.Plural != old.Spec.Names.Plural {
		p.add(RejectsStored, "spec", fmt.Sprintf("a definition of %s.%s", crd.Spec.Names.Plural, crd.Spec.Group),
			fmt.Sprintf("be one of %s.%s, as the former definition is", old.Spec.Names.Plural, old.Spec.Group), "")
		return p.problems
	}
	p.gone(crd, old)
	none := crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy == crdv1.NoneConverter
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		before := versionOf(old, func(o *crdv1.CustomResourceDefinitionVersion) bool { return o.Name == v.Name })
		if before == nil && none {
			before = versionOf(old, func(o *crdv1.CustomResourceDefinitionVersion) bool { return o.Storage })
		}
		if before == nil || !v.Served || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil || before.Schema == nil || before.Schema.OpenAPIV3Schema == nil {
			continue
		}
		p.node(before.Schema.OpenAPIV3Schema, v.Schema.OpenAPIV3Schema, fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i), true)
	}
	return p.problems
}

// changes are the problems of a change.
type changes struct {
	problems
	evaluate Evaluate
}

func versionOf(crd *crdv1.CustomResourceDefinition, is func(*crdv1.CustomResourceDefinitionVersion) bool) *crdv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; is(v) {
			return v
		}
	}
	return nil
}

// gone reports versions that were stored or served, and no longer are.
func (p *problems) gone(crd, old *crdv1.CustomResourceDefinition) {
	for i := range old.Spec.Versions {
		was := &old.Spec.Versions[i]
		now := versionOf(crd, func(v *crdv1.CustomResourceDefinitionVersion) bool { return v.Name == was.Name })
		stored := was.Storage || slices.Contains(old.Status.StoredVersions, was.Name)
		switch {
		case now == nil && stored:
			p.add(VersionRemoved, "spec.versions", "no version "+schema.Quote(was.Name)+", in which objects may be stored", "have it until none is", "see status.storedVersions of the definition in the cluster")
		case now == nil && was.Served:
			p.add(VersionRemoved, "spec.versions", "no version "+schema.Quote(was.Name)+", which clients may use", "have it until none does", "")
		case now != nil && was.Served && !now.Served:
			p.add(VersionRemoved, "spec.versions", "version "+schema.Quote(was.Name)+" that is no more served", "be served until no client uses it", "")
		}
	}
}

// node compares what two schemas allow at one place; root says whether it is the whole object.
func (p *changes) node(old, now *crdv1.JSONSchemaProps, at string, root bool) {
	if keeps(old) && !keeps(now) {
		p.add(PrunesStored, at, "unknown fields, which were kept", "be kept", "")
	}
	if !p.types(old, now, at) {
		return // all else follows from it
	}
	p.values(old, now, at)
	p.bounds(old, now, at)
	p.fields(old, now, at)
	p.rules(old, now, at, root)
	for _, j := range []struct {
		name    string
		old, is any
		none    bool
	}{{"allOf", old.AllOf, now.AllOf, len(now.AllOf) == 0}, {"anyOf", old.AnyOf, now.AnyOf, len(now.AnyOf) == 0},
		{"oneOf", old.OneOf, now.OneOf, len(now.OneOf) == 0}, {"not", old.Not, now.Not, now.Not == nil}} {
		if !j.none && !reflect.DeepEqual(j.old, j.is) {
			p.add(RejectsStored, at+"."+j.name, "another "+j.name, "let through what is stored", "compare the two by hand")
		}
	}
	if old.Items != nil && now.Items != nil && old.Items.Schema != nil && now.Items.Schema != nil {
		p.node(old.Items.Schema, now.Items.Schema, at+".items", false)
	}
}

// rules reports new rules that refuse what the old schema and its rules allow.
func (p *changes) rules(old, now *crdv1.JSONSchemaProps, at string, root bool) {
	for i, rule := range now.XValidations {
		if slices.ContainsFunc(old.XValidations, func(r crdv1.ValidationRule) bool { return r.Rule == rule.Rule }) {
			continue
		}
		outcome, err := p.evaluate(old, now, rule, root, true)
		found := "the new rule " + schema.Quote(rule.Rule)
		switch {
		case err != nil:
		case outcome.Refused != "":
			found += ", which refuses " + schema.Clean(outcome.Refused, 120)
		case outcome.Failed != "":
			found += ", which fails on " + schema.Clean(outcome.Failed, 120) + ": " + schema.Clean(outcome.reason(), 120)
		default:
			continue
		}
		p.add(RejectsStored, fmt.Sprintf("%s.x-kubernetes-validations[%d]", at, i), found, "hold for all objects that are stored", "")
	}
}

// types reports whether the new type allows all values of the old one.
func (p *problems) types(old, now *crdv1.JSONSchemaProps, at string) bool {
	was, is := typeOf(old), typeOf(now)
	switch {
	case is == "" || was == is || was == "integer" && (is == "number" || is == "integer or string") || was == "string" && is == "integer or string":
	default:
		p.add(RejectsStored, at+".type", "type "+is, "be "+orAny(was)+", as it was", "")
		return false
	}
	if old.Nullable && !now.Nullable {
		p.add(PrunesStored, at+".nullable", "a field that may not be null", "allow null, as it did", "null is dropped, or becomes the default")
	}
	return true
}

func typeOf(node *crdv1.JSONSchemaProps) string {
	if node.XIntOrString {
		return "integer or string"
	}
	return node.Type
}

func orAny(name string) string {
	if name == "" {
		return "any type"
	}
	return name
}

// values compares enums, patterns and formats, and what makes items of a list differ.
func (p *problems) values(old, now *crdv1.JSONSchemaProps, at string) {
	if len(now.Enum) > 0 {
		switch lost := without(old.Enum, now.Enum); {
		case len(old.Enum) == 0:
			p.add(RejectsStored, at+".enum", "a new enum", "let through what is stored", "")
		case len(lost) > 0:
			p.add(RejectsStored, at+".enum", "an enum without "+strings.Join(lost, ", "), "have all that it had", "")
		}
	}
	if now.Pattern != "" && now.Pattern != old.Pattern {
		p.add(RejectsStored, at+".pattern", "another pattern: "+schema.Quote(now.Pattern), "match what is stored", "")
	}
	if now.Format != "" && now.Format != old.Format && (now.Format != "int64" || old.Format != "int32") {
		p.add(RejectsStored, at+".format", "another format: "+schema.Quote(now.Format), "fit what is stored", "")
	}
	was, is := "atomic", "atomic"
	if old.XListType != nil {
		was = *old.XListType
	}
	if now.XListType != nil {
		is = *now.XListType
	}
	if is != was && is != "atomic" || is == "map" && !slices.Equal(old.XListMapKeys, now.XListMapKeys) {
		p.add(RejectsStored, at+".x-kubernetes-list-type", "a list whose items must differ now", "allow items that are alike, as it did", "")
	}
	if now.XEmbeddedResource && !old.XEmbeddedResource {
		p.add(RejectsStored, at+".x-kubernetes-embedded-resource", "a field that must be a whole object now", "fit what is stored", "")
	}
}

// without returns the values of the first list that the second lacks.
func without(all, some []crdv1.JSON) (lost []string) {
	for _, one := range all {
		if !slices.ContainsFunc(some, func(s crdv1.JSON) bool { return bytes.Equal(s.Raw, one.Raw) }) {
			lost = append(lost, string(one.Raw))
		}
	}
	return lost
}

// bounds compares lower and upper bounds.
func (p *problems) bounds(old, now *crdv1.JSONSchemaProps, at string) {
	number := func(n *int64) *float64 {
		if n == nil {
			return nil
		}
		f := float64(*n)
		return &f
	}
	for _, b := range []struct {
		name         string
		was, is      *float64
		upper        bool
		open, closed bool // exclusive: now, and then
	}{
		{"maximum", old.Maximum, now.Maximum, true, now.ExclusiveMaximum, old.ExclusiveMaximum},
		{"minimum", old.Minimum, now.Minimum, false, now.ExclusiveMinimum, old.ExclusiveMinimum},
		{"maxLength", number(old.MaxLength), number(now.MaxLength), true, false, false},
		{"minLength", number(old.MinLength), number(now.MinLength), false, false, false},
		{"maxItems", number(old.MaxItems), number(now.MaxItems), true, false, false},
		{"minItems", number(old.MinItems), number(now.MinItems), false, false, false},
		{"maxProperties", number(old.MaxProperties), number(now.MaxProperties), true, false, false},
		{"minProperties", number(old.MinProperties), number(now.MinProperties), false, false, false},
	} {
		switch {
		case b.is == nil, !b.upper && *b.is <= 0 && b.name != "minimum":
		case b.was == nil:
			p.add(RejectsStored, at+"."+b.name, "a new "+b.name+" of "+text(*b.is), "have none, as it had", "")
		case b.upper && *b.is < *b.was, !b.upper && *b.is > *b.was, *b.is == *b.was && b.open && !b.closed:
			least := map[bool]string{true: "at least ", false: "at most "}[b.upper]
			p.add(RejectsStored, at+"."+b.name, text(*b.is), "be "+least+text(*b.was)+", as it was", "")
		}
	}
	if now.MultipleOf != nil && (old.MultipleOf == nil || *old.MultipleOf != *now.MultipleOf) {
		p.add(RejectsStored, at+".multipleOf", text(*now.MultipleOf), "let through what is stored", "")
	}
}

func text(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// fields compares the fields that an object may have, and those that it must have.
func (p *changes) fields(old, now *crdv1.JSONSchemaProps, at string) {
	for _, name := range now.Required {
		child := now.Properties[name]
		if !slices.Contains(old.Required, name) && child.Default == nil {
			p.add(RejectsStored, at+".required", "the field "+schema.Quote(name)+", which is required now", "be optional, as it was, or have a default", "")
		}
	}
	open := keeps(now) || now.AdditionalProperties != nil
	for name := range sorted(old.Properties) {
		was, is := old.Properties[name], now.Properties[name]
		if _, there := now.Properties[name]; there {
			p.node(&was, &is, member(at+".properties", name), false)
		} else if !open {
			p.add(PrunesStored, at+".properties", "no field "+schema.Quote(name), "have it, as it had", "")
		} else if now.AdditionalProperties != nil && now.AdditionalProperties.Schema != nil {
			p.node(&was, now.AdditionalProperties.Schema, at+".additionalProperties", false)
		}
	}
	switch {
	case old.AdditionalProperties == nil || keeps(now):
	case now.AdditionalProperties == nil:
		p.add(PrunesStored, at, "no map of any keys", "take any key, as it did", "")
	case old.AdditionalProperties.Schema != nil && now.AdditionalProperties.Schema != nil:
		p.node(old.AdditionalProperties.Schema, now.AdditionalProperties.Schema, at+".additionalProperties", false)
	}
}
