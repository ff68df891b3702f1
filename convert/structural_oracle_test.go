package convert

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"stoic/schema"
)

// oracle is the API server's own code, called in the order in which the API server calls it for a creation.
type oracle struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	sub        apiextensionsv1.CustomResourceSubresources
}

// bothOf returns our check and the API server's for the same schema.
func bothOf(t testing.TB, root *props, sub *apiextensionsv1.CustomResourceSubresources) (*Schema, *oracle) {
	t.Helper()
	o, err := newOracle(root, sub)
	if err != nil {
		t.Fatalf("not structural: %v", err)
	}
	crd := resourceOf(root)
	crd.Spec.Versions[0].Subresources = sub
	all, err := Structural(crd)
	if err != nil {
		t.Fatal(err)
	}
	return all[0], o
}

func newOracle(root *props, sub *apiextensionsv1.CustomResourceSubresources) (*oracle, error) {
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
	if sub == nil {
		sub = &apiextensionsv1.CustomResourceSubresources{}
	}
	return &oracle{structural, validator, *sub}, err
}

// judge returns why the API server refuses an object, and which fields it drops. It does not look at the metadata.
func (o *oracle) judge(raw map[string]any) (refusal string, dropped []string) {
	u := runtime.DeepCopyJSON(raw)
	dropped = pruning.PruneWithOptions(u, o.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(u, o.structural)
	if err, _ := objectmeta.CoerceWithOptions(nil, u, o.structural, false, objectmeta.CoerceOptions{}); err != nil {
		return err.Error(), dropped
	}
	defaulting.Default(u, o.structural)
	if o.sub.Status != nil {
		delete(u, "status")
	}
	all := o.scale(u)
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

// scale returns the API server's errors about the fields that the paths of the scale subresource lead to.
func (o *oracle) scale(u map[string]any) (minds []string) {
	scale := o.sub.Scale
	if scale == nil {
		return nil
	}
	keys := func(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }
	for _, path := range []string{scale.SpecReplicasPath, scale.StatusReplicasPath} {
		n, _, err := unstructured.NestedInt64(u, keys(path)...)
		if err != nil {
			minds = append(minds, err.Error())
		} else if n < 0 || n > math.MaxInt32 {
			minds = append(minds, fmt.Sprintf("%s: %d is out of range", path, n))
		}
	}
	if scale.LabelSelectorPath != nil {
		if _, _, err := unstructured.NestedString(u, keys(*scale.LabelSelectorPath)...); err != nil {
			minds = append(minds, err.Error())
		}
	}
	return minds
}

// agree compares both checks of one object. It returns what differs, or "".
func agree(s *Schema, o *oracle, raw map[string]any) string {
	refusal, dropped := o.judge(raw)
	got := checkStructural(s, raw)
	if refusal == "" {
		// A stated exception: the API server lets a list through where a string has a format.
		got.Problems = slices.DeleteFunc(got.Problems, func(p schema.Problem) bool { return p.Found == "a list" && p.Want == "be a string" })
	}
	if o.sub.Status != nil { // it is dropped as a whole, with whatever of it has the wrong type
		dropped = slices.DeleteFunc(dropped, inStatus)
		got.Warnings = slices.DeleteFunc(got.Warnings, func(p schema.Problem) bool { return inStatus(p.Path) })
	}
	if (refusal != "") != (len(got.Problems) > 0) {
		return fmt.Sprintf("API server: %s\nours: %v", refusal, got.Problems)
	}
	if refusal == "" && (len(dropped) > 0) != (len(got.Warnings) > 0) {
		return fmt.Sprintf("API server drops %v\nours: %v", dropped, got.Warnings)
	}
	return ""
}

func inStatus(path string) bool {
	return strings.HasPrefix(path, "status.") || strings.HasPrefix(path, "status[")
}
