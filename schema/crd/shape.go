package main

import (
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema/crd/generate"
)

// typeSuffix is what the Go types of package training/kinds append to the name of the kind: TFJobObject is kind TFJob.
const typeSuffix = "Object"

// publish makes the shape that clusters install.
func publish(crd *crdv1.CustomResourceDefinition) {
	rename(crd)
	generate.Publish(crd)
}

// rename sets the kind of the CRD. The Go type cannot have that name: it is a function that returns the Kind.
func rename(crd *crdv1.CustomResourceDefinition) {
	delete(crd.Annotations, "controller-gen.kubebuilder.io/version") // tools/go.mod has it
	kind := strings.TrimSuffix(crd.Spec.Names.Kind, typeSuffix)
	for i := range crd.Spec.Versions {
		root := generate.SchemaOf(crd, i)
		root.Description = strings.Replace(root.Description, crd.Spec.Names.Kind, kind, 1)
	}
	crd.Spec.Names.Kind = kind
	crd.Spec.Names.ListKind = kind + "List"
}

func formerColumns(columns []crdv1.CustomResourceColumnDefinition) []crdv1.CustomResourceColumnDefinition {
	var kept []crdv1.CustomResourceColumnDefinition
	for _, column := range columns {
		if column.Priority == 0 {
			kept = append(kept, column)
		}
	}
	return kept
}

// open makes a CRD that takes anything: spec and status have no type, so that "nonsense" and 7 are stored, too. Tests use it for
// what only the converter can reject. Its names, columns and subresources are those of training-operator v1.9.4.
func open(crd *crdv1.CustomResourceDefinition) {
	rename(crd)
	withoutScale := slices.Contains([]string{"tfjobs", "xgboostjobs", "mpijobs"}, crd.Spec.Names.Plural)
	crd.Spec.Names.ShortNames = nil
	crd.Spec.Names.Categories = nil
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		version.AdditionalPrinterColumns = formerColumns(version.AdditionalPrinterColumns)
		if withoutScale {
			version.Subresources.Scale = nil
		}
		version.Schema.OpenAPIV3Schema = &crdv1.JSONSchemaProps{
			Type: "object",
			Properties: map[string]crdv1.JSONSchemaProps{
				"spec":   {XPreserveUnknownFields: generate.Yes()},
				"status": {XPreserveUnknownFields: generate.Yes()},
			},
			XPreserveUnknownFields: generate.Yes(),
		}
	}
}
