package scenario

import (
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"stoic/training/versions"
)

// trainingConverted returns the training operator beside its webhook. Users write TFJobs as v1beta2 and edit them as v1, so that
// each has field managers of both versions: the API server calls the webhook at every write of the operator.
func trainingConverted() *Operator {
	o := training()
	o.Name, o.Apart, o.Canary, o.Share, o.Sample = "training-converted", true, false, 24, []string{"converted-succeed"}
	o.Goals, o.Watches, o.Valid = []string{"G1", "G6"}, nil, nil
	kind := versions.TFJob()
	o.Converted = &Conversion{Kind: kind, Folder: "deploy/crd", File: "tfjobs.yaml", Command: []string{"webhook"}}
	o.CRDs = nil
	o.Scenarios = nil
	for _, s := range slices.Concat(endings(), edits(), deletions()) {
		manifest := s.Manifest
		s.Name, s.Manifest = "converted-"+s.Name, func(name string) string { return asV1Beta2(manifest(name)) }
		o.Scenarios = append(o.Scenarios, s)
	}
	return o
}

// asV1Beta2 returns the manifest of a TFJob in v1beta2, which has no run policy. There the default of cleanPodPolicy is Running,
// and not None as in v1, so None is written explicitly.
func asV1Beta2(manifest string) string {
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		panic(fmt.Sprintf("a manifest of this package: %v", err))
	}
	object["apiVersion"] = "kubeflow.org/v1beta2"
	spec, _ := object["spec"].(map[string]any)
	policy, _ := spec["runPolicy"].(map[string]any)
	delete(spec, "runPolicy")
	spec["cleanPodPolicy"] = "None"
	for field, value := range policy {
		spec[field] = value
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("a manifest of this package: %v", err))
	}
	return string(text)
}
