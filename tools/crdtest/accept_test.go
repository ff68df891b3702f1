package crdtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const installed = "../../deploy/crd/tfjobs.yaml"

// read returns a CRD as the API server stores it, with its own defaults.
func read(t *testing.T, path string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crd := new(crdv1.CustomResourceDefinition)
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	crdv1.SetObjectDefaults_CustomResourceDefinition(crd)
	internal := new(apiextensions.CustomResourceDefinition)
	if err := crdv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		t.Fatalf("convert %s: %v", path, err)
	}
	return internal
}

// server processes an object like an API server with one CRD, on creation and on update.
type server struct {
	schema    *structural.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
}

func newServer(t *testing.T, path string) server {
	t.Helper()
	crd := read(t, path)
	props := crd.Spec.Validation // a single version has its schema here
	if props == nil {
		props = crd.Spec.Versions[0].Schema
	}
	s, err := structural.NewStructural(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("%s is not structural: %v", path, err)
	}
	validator, _, err := validation.NewSchemaValidator(props.OpenAPIV3Schema)
	if err != nil {
		t.Fatalf("make the validator of %s: %v", path, err)
	}
	return server{schema: s, validator: validator, rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}
}

// refuse returns why an object is rejected, or "".
func (s server) refuse(object, old map[string]any) string {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.schema)
	defaulting.Default(object, s.schema)
	var errs field.ErrorList
	errs = append(errs, validation.ValidateCustomResource(nil, object, s.validator)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.schema, object)...)
	if len(errs) == 0 {
		var before any
		if old != nil {
			before = old
		}
		ruled, _ := s.rules.Validate(context.Background(), nil, s.schema, object, before, celconfig.RuntimeCELCostBudget)
		errs = append(errs, ruled...)
	}
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

const pod = `template: {spec: {containers: [{name: tensorflow, image: i}]}}`

// TestRefused: what the CRD of TFJob rejects. With an empty expectation the object is stored, and the converter decides.
func TestRefused(t *testing.T) {
	tests := []struct {
		name, spec, refusal string
	}{
		{name: "minimal", spec: `{tfReplicaSpecs: {Worker: {` + pod + `}}}`},
		{name: "explicitly empty words", spec: `{successPolicy: "", runPolicy: {cleanPodPolicy: ""}, tfReplicaSpecs: {Worker: {restartPolicy: "", ` + pod + `}}}`},
		{name: "no roles", spec: `{}`, refusal: "spec.tfReplicaSpecs: Required"},
		{name: "not an object", spec: `nonsense`, refusal: "spec: Invalid"},
		{name: "role is null", spec: `{tfReplicaSpecs: {Worker: null}}`},
		{name: "replicas in quotes", spec: `{tfReplicaSpecs: {Worker: {replicas: "4", ` + pod + `}}}`,
			refusal: "Worker.replicas in body must be of type integer"},
		{name: "replicas wrap around", spec: `{tfReplicaSpecs: {Worker: {replicas: 4294967297, ` + pod + `}}}`,
			refusal: "int32"},
		{name: "negative replicas", spec: `{tfReplicaSpecs: {Worker: {replicas: -3, ` + pod + `}}}`, refusal: "greater than or equal to 0"},
		{name: "too many replicas", spec: `{tfReplicaSpecs: {Worker: {replicas: 20001, ` + pod + `}}}`, refusal: "less than or equal to 20000"},
		{name: "restart policy", spec: `{tfReplicaSpecs: {Worker: {restartPolicy: Perhaps, ` + pod + `}}}`, refusal: `Unsupported value: "Perhaps"`},
		{name: "clean pod policy", spec: `{runPolicy: {cleanPodPolicy: Some}, tfReplicaSpecs: {Worker: {` + pod + `}}}`, refusal: `Unsupported value: "Some"`},
		{name: "foreign manager", spec: `{runPolicy: {managedBy: me}, tfReplicaSpecs: {Worker: {` + pod + `}}}`, refusal: "must be kubeflow.org/training-operator or"},
		{name: "chief and master", spec: `{tfReplicaSpecs: {Chief: {` + pod + `}, Master: {` + pod + `}}}`},
		{name: "chief alone", spec: `{tfReplicaSpecs: {Chief: {` + pod + `}, Worker: {` + pod + `}}}`},
		{name: "no containers", spec: `{tfReplicaSpecs: {Worker: {template: {spec: {}}}}}`, refusal: "containers: Required"},
		{name: "number as argument", spec: `{tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: a, args: [1]}]}}}}}`,
			refusal: "args[0] in body must be of type string"},
		{name: "quantity that is none", spec: `{tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: a, resources: {limits: {cpu: lots}}}]}}}}}`,
			refusal: "limits.cpu in body should match"},
		{name: "quantity that only looks like one", spec: `{tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: a, resources: {limits: {cpu: "1e1.5"}}}]}}}}}`},
		{name: "two containers of one name", spec: `{tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: a}, {name: a}]}}}}}`,
			refusal: "Duplicate"},
	}
	s := newServer(t, installed)
	for _, test := range tests {
		found := s.refuse(object(t, test.spec), nil)
		if (test.refusal == "") != (found == "") || !strings.Contains(found, test.refusal) {
			t.Errorf("%s: found %q, wanted %q", test.name, found, test.refusal)
		}
	}
}

// TestImmutable: fields that may not change once they are set. They may be set later, and removed.
func TestImmutable(t *testing.T) {
	const queue = `{runPolicy: {schedulingPolicy: {queue: %}}, tfReplicaSpecs: {}, pytorchReplicaSpecs: {}}`
	const manager = `{runPolicy: {managedBy: %}, tfReplicaSpecs: {}, pytorchReplicaSpecs: {}}`
	const ours, kueue, none = "kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue", "null"
	tests := []struct {
		spec, from, to, refusal string
	}{
		{spec: queue, from: "a", to: "b", refusal: "queue is immutable"},
		{spec: queue, from: "a", to: "a"},
		{spec: queue, from: none, to: "b"},
		{spec: queue, from: "a", to: none},
		{spec: manager, from: ours, to: kueue, refusal: "managedBy is immutable"},
		{spec: manager, from: none, to: kueue},
	}
	for _, path := range []string{installed, "../../deploy/crd/pytorchjobs.yaml"} {
		s := newServer(t, path)
		for _, test := range tests {
			old := object(t, strings.ReplaceAll(test.spec, "%", test.from))
			if refused := s.refuse(old, nil); refused != "" {
				t.Fatalf("the object before the update was refused: %s", refused)
			}
			found := s.refuse(object(t, strings.ReplaceAll(test.spec, "%", test.to)), old)
			if (test.refusal == "") != (found == "") || !strings.Contains(found, test.refusal) {
				t.Errorf("%s: %s from %s to %s: found %q, wanted %q", filepath.Base(path), test.spec, test.from, test.to, found, test.refusal)
			}
		}
	}
}

func object(t *testing.T, spec string) map[string]any {
	t.Helper()
	text := "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: sample}\nspec: " + spec
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("parse the sample %s: %v", spec, err)
	}
	// Decode as the API server does: whole numbers are int64.
	var value map[string]any
	if err := kjson.Unmarshal(raw, &value); err != nil {
		t.Fatalf("decode the sample %s: %v", spec, err)
	}
	return value
}
