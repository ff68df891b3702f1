package check

import (
	"errors"
	"fmt"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"stoic/schema"
)

// definition reports what every API server refuses outside of the schemas. Refusals has these at the same paths, and more.
func (p *problems) definition(crd *crdv1.CustomResourceDefinition) {
	s := &crd.Spec
	p.named("spec.group", s.Group, validation.IsDNS1123Subdomain)
	if s.Group != "" && !strings.Contains(s.Group, ".") {
		p.add(RefusedByServer, "spec.group", schema.Quote(s.Group), "be a domain with at least one dot", "")
	}
	p.named("spec.names.plural", s.Names.Plural, validation.IsDNS1035Label)
	p.named("spec.names.kind", s.Names.Kind, func(kind string) []string { return validation.IsDNS1035Label(strings.ToLower(kind)) })
	if want := s.Names.Plural + "." + s.Group; crd.Name != want && s.Names.Plural != "" && s.Group != "" {
		p.add(RefusedByServer, "metadata.name", schema.Quote(crd.Name), "be "+schema.Quote(want)+", PLURAL.GROUP", "")
	}
	switch s.Scope {
	case crdv1.NamespaceScoped, crdv1.ClusterScoped:
	case "":
		p.add(RefusedByServer, "spec.scope", "", "be set", "write Namespaced or Cluster")
	default:
		p.add(RefusedByServer, "spec.scope", schema.Quote(string(s.Scope)), `be "Namespaced" or "Cluster"`, "")
	}
	p.definedVersions(s.Versions)
}

// named checks that a field is set and is a valid name by the rules of API servers.
func (p *problems) named(path, name string, wrong func(string) []string) {
	if name == "" {
		p.add(RefusedByServer, path, "", "be set", "")
	} else if says := wrong(name); len(says) > 0 {
		p.add(RefusedByServer, path, schema.Quote(name), verb(says[0]), "")
	}
}

func (p *problems) definedVersions(versions []crdv1.CustomResourceDefinitionVersion) {
	if len(versions) == 0 {
		p.add(RefusedByServer, "spec.versions", "", "have at least one version", "")
		return
	}
	var stored []string
	seen := map[string]bool{}
	for i, v := range versions {
		at := fmt.Sprintf("spec.versions[%d]", i)
		p.named(at+".name", v.Name, validation.IsDNS1035Label)
		if seen[v.Name] && v.Name != "" {
			p.add(RefusedByServer, "spec.versions", "version "+schema.Quote(v.Name)+" twice", "have a name of its own for each version", "")
		}
		seen[v.Name] = true
		if v.Storage {
			stored = append(stored, schema.Quote(v.Name))
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			p.add(RefusedByServer, at+".schema.openAPIV3Schema", "", "be set", "")
		}
	}
	switch len(stored) {
	case 0:
		p.add(RefusedByServer, "spec.versions", "no version with storage: true", "have exactly one", "")
	case 1:
	default:
		p.add(RefusedByServer, "spec.versions", "storage: true in "+strings.Join(stored, ", "), "have it in exactly one version", "")
	}
}

// Decode reads a definition as an API server does: keys are case-sensitive. It reports unknown fields. It returns an error if a
// value does not fit its field.
func Decode(document []byte) (crd *crdv1.CustomResourceDefinition, unknown []schema.Problem, err error) {
	crd = new(crdv1.CustomResourceDefinition)
	strict, err := kjson.UnmarshalStrict(document, crd)
	if err != nil {
		return nil, nil, err
	}
	var p problems
	for _, e := range strict {
		var field kjson.FieldError
		if errors.As(e, &field) {
			p.add(FieldDropped, KubectlPath(field.FieldPath()), "", "be a field of a CustomResourceDefinition", "API servers drop it; kubectl apply refuses it")
		}
	}
	return crd, p, nil
}
