package verdict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Judge decides about the objects of one version of a custom resource. It does not change, and several goroutines may use it.
type Judge struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil if there are none
	status     bool           // status is a subresource: the API server ignores it where an object is created
	scale      *apiextensionsv1.CustomResourceSubresourceScale
}

// Verdict is what an API server decides about the creation of one object.
type Verdict struct {
	Refusals field.ErrorList // by the schema; an API server that refuses an object for them may not evaluate the rules
	Rules    field.ErrorList // CEL rules that the object violates
	Dropped  []string        // paths of fields that the schema does not have, without those of a status that is ignored
}

// New returns the judge of one version of a definition. The definition must be one that convert.Structural accepts.
func New(version *apiextensionsv1.CustomResourceDefinitionVersion) (*Judge, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, errors.New("schema.openAPIV3Schema: must be set")
	}
	structural, validator, err := nodeOf(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("read the schema of version %s: %w", version.Name, err)
	}
	if faults := structuralschema.ValidateStructural(nil, structural); len(faults) > 0 {
		return nil, fmt.Errorf("read the schema of version %s: %w", version.Name, faults.ToAggregate())
	}
	j := &Judge{structural: structural, validator: validator, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	if version.Subresources != nil {
		j.status = version.Subresources.Status != nil
		j.scale = version.Subresources.Scale.DeepCopy()
	}
	return j, nil
}

// Judge decides about an object with the types of decoded JSON. It looks at everything but the metadata, which an API server checks
// for all kinds alike. It does not change the object. A panic of the library is an internal error among the refusals.
func (j *Judge) Judge(object map[string]any) (verdict Verdict) {
	defer func() {
		if cause := recover(); cause != nil {
			verdict.Refusals = field.ErrorList{field.InternalError(nil, fmt.Errorf("the API server's library fails: %v", cause))}
		}
	}()
	u := runtime.DeepCopyJSON(object)
	setGeneratedName(u)
	// In the order in which an API server does it (apiextensions-apiserver: customresource_handler.go, customresource/strategy.go).
	verdict.Dropped = pruning.PruneWithOptions(u, j.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	if j.status {
		verdict.Dropped = slices.DeleteFunc(verdict.Dropped, isInStatus)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(u, j.structural)
	if err, _ := objectmeta.CoerceWithOptions(nil, u, j.structural, false, objectmeta.CoerceOptions{}); err != nil {
		verdict.Refusals = append(verdict.Refusals, err)
		return verdict
	}
	defaulting.Default(u, j.structural)
	if j.status {
		delete(u, "status")
	}
	ctx := context.Background()
	verdict.Refusals = append(verdict.Refusals, j.checkScale(u)...)
	verdict.Refusals = append(verdict.Refusals, validation.ValidateCustomResource(nil, u, j.validator)...)
	verdict.Refusals = append(verdict.Refusals, objectmeta.Validate(ctx, nil, u, j.structural, false)...)
	verdict.Refusals = append(verdict.Refusals, listtype.ValidateListSetsAndMaps(nil, j.structural, u)...)
	if j.rules != nil && !blocksRules(verdict.Refusals) {
		verdict.Rules, _ = j.rules.Validate(ctx, nil, j.structural, u, nil, celconfig.RuntimeCELCostBudget)
	}
	return verdict
}

func isInStatus(path string) bool {
	return strings.HasPrefix(path, "status.") || strings.HasPrefix(path, "status[")
}

// blocksRules reports whether an API server evaluates no rules because of these errors: a rule may rely on types and required fields.
func blocksRules(refusals field.ErrorList) bool {
	for _, refusal := range refusals {
		switch refusal.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

// setGeneratedName sets the name that an API server might generate, because schemas and rules see the name. An API server cuts the
// prefix to 58 bytes and appends five letters and digits.
func setGeneratedName(u map[string]any) {
	meta, _ := u["metadata"].(map[string]any)
	prefix, _ := meta["generateName"].(string)
	if prefix != "" && meta["name"] == nil {
		meta["name"] = prefix[:min(len(prefix), 58)] + "x2x4x"
	}
}

// checkScale returns what is wrong with the fields that the paths of the scale subresource lead to.
func (j *Judge) checkScale(u map[string]any) (faults field.ErrorList) {
	if j.scale == nil {
		return nil
	}
	for _, path := range []string{j.scale.SpecReplicasPath, j.scale.StatusReplicasPath} {
		keys := keysOfPath(path)
		replicas, found, err := unstructured.NestedInt64(u, keys...)
		if err != nil {
			faults = append(faults, field.Invalid(pathOf(keys), nil, err.Error()))
		} else if found && (replicas < 0 || replicas > math.MaxInt32) {
			faults = append(faults, field.Invalid(pathOf(keys), replicas, "must be from 0 to 2147483647"))
		}
	}
	if j.scale.LabelSelectorPath != nil {
		keys := keysOfPath(*j.scale.LabelSelectorPath)
		if _, _, err := unstructured.NestedString(u, keys...); err != nil {
			faults = append(faults, field.Invalid(pathOf(keys), nil, err.Error()))
		}
	}
	return faults
}

// keysOfPath returns the fields of a path such as .spec.replicas.
func keysOfPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func pathOf(keys []string) *field.Path { return field.NewPath(keys[0], keys[1:]...) }
