package convert

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"stoic/schema"
)

// oracle is the code of the API server, put together in the order in which the API server runs it for a creation.
type oracle struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func newOracle(root *apiextensionsv1.JSONSchemaProps) (*oracle, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(root, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	if faults := structuralschema.ValidateStructural(nil, structural); len(faults) > 0 {
		return nil, faults.ToAggregate()
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	return &oracle{structural, validator}, err
}

// judge says why the API server refuses an object, and which fields it drops. It does not look at the metadata.
func (o *oracle) judge(raw map[string]any) (refusal string, dropped []string) {
	u := runtime.DeepCopyJSON(raw)
	dropped = pruning.PruneWithOptions(u, o.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(u, o.structural)
	if err, _ := objectmeta.CoerceWithOptions(nil, u, o.structural, false, objectmeta.CoerceOptions{}); err != nil {
		return err.Error(), dropped
	}
	defaulting.Default(u, o.structural)
	var all []string
	for _, err := range validation.ValidateCustomResource(nil, u, o.validator) {
		all = append(all, err.Error())
	}
	for _, err := range objectmeta.Validate(context.Background(), nil, u, o.structural, false) {
		all = append(all, err.Error())
	}
	for _, err := range listtype.ValidateListSetsAndMaps(nil, o.structural, u) {
		all = append(all, err.Error())
	}
	return strings.Join(all, "; "), dropped
}

// agree holds one object against the API server's code. It says what differs, or nothing.
func agree(s *Schema, o *oracle, raw map[string]any) string {
	refusal, dropped := o.judge(raw)
	got := checkStructural(s, raw)
	if refusal == "" {
		// A stated exception: the API server lets a list through where a string has a format.
		got.Problems = slices.DeleteFunc(got.Problems, func(p schema.Problem) bool { return p.Found == "a list" && p.Want == "be a string" })
	}
	if (refusal != "") != (len(got.Problems) > 0) {
		return fmt.Sprintf("API server: %s\nours: %v", refusal, got.Problems)
	}
	if refusal == "" && (len(dropped) > 0) != (len(got.Warnings) > 0) {
		return fmt.Sprintf("API server drops %v\nours: %v", dropped, got.Warnings)
	}
	return ""
}
