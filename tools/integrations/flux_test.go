package integrations

import (
	"fmt"
	"testing"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// healthCheck is an entry of spec.healthCheckExprs of a Kustomization.
type healthCheck struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	InProgress string `json:"inProgress"`
	Failed     string `json:"failed"`
	Current    string `json:"current"`
}

// fluxKustomization has the fields of a Kustomization that are read here; the example may have no others.
type fluxKustomization struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Interval         string         `json:"interval"`
		Path             string         `json:"path"`
		Prune            bool           `json:"prune"`
		SourceRef        map[string]any `json:"sourceRef"`
		Wait             bool           `json:"wait"`
		Timeout          string         `json:"timeout"`
		HealthCheckExprs []healthCheck  `json:"healthCheckExprs"`
	} `json:"spec"`
}

func healthChecks(t *testing.T) []healthCheck {
	var k fluxKustomization
	configuration(t, &k, "flux", "kustomization.yaml")
	return k.Spec.HealthCheckExprs
}

// fluxStatus returns the status that kustomize-controller computes: InProgress while the newest generation is not observed; then the
// first true expression in the order inProgress, failed, current; InProgress if none is true. The first check with the group and the kind
// applies, whatever its version. The fields of the object are the variables; nothing is declared or type-checked.
func fluxStatus(checks []healthCheck, object map[string]any) (string, error) {
	for _, check := range checks {
		if group(check.APIVersion) != group(textAt(object, "apiVersion")) || check.Kind != textAt(object, "kind") {
			continue
		}
		if seen, is := mapAt(object, "status")["observedGeneration"].(int64); is && seen != mapAt(object, "metadata")["generation"] {
			return "InProgress", nil
		}
		for _, e := range []struct{ status, expression string }{{"InProgress", check.InProgress}, {"Failed", check.Failed}, {"Current", check.Current}} {
			holds, err := evaluate(e.expression, object)
			if err != nil {
				return "", fmt.Errorf("evaluate %s: %w", e.expression, err)
			}
			if holds {
				return e.status, nil
			}
		}
		return "InProgress", nil
	}
	return "", fmt.Errorf("no check for %s", object["kind"])
}

func group(apiVersion string) string {
	u := unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	return u.GroupVersionKind().Group
}

func evaluate(expression string, variables map[string]any) (bool, error) {
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		return false, fmt.Errorf("make an environment: %w", err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return false, fmt.Errorf("parse: %w", issues.Err())
	}
	program, err := env.Program(parsed)
	if err != nil {
		return false, fmt.Errorf("make a program: %w", err)
	}
	value, _, err := program.Eval(variables)
	if err != nil {
		return false, fmt.Errorf("run: %w", err)
	}
	result, is := value.(types.Bool)
	if !is {
		return false, fmt.Errorf("the value is a %s", value.Type())
	}
	return bool(result), nil
}

func TestFluxHealth(t *testing.T) {
	checks := healthChecks(t)
	rule := func(s stored) string {
		status, err := fluxStatus(checks, s.object)
		switch {
		case err != nil && len(s.status()) == 0:
			return "waits" // status is no variable yet: Flux asks again
		case err != nil:
			return sprint(err)
		}
		return status
	}
	hold(t, map[string]string{
		"new": "waits", "created": "InProgress", "running": "InProgress", "restarting": "InProgress", "running-again": "InProgress",
		"suspended": "InProgress", "suspended-while-running": "InProgress", "resumed": "InProgress", "succeeded": "Current", "failed": "Failed",
		"unobserved": "InProgress", "rejected": "Failed", "repaired": "InProgress", "rejected-edit-suspended": "Failed", "rejected-edit": "Failed", "repaired-edit": "InProgress",
		"rejected-edit-succeeded": "Failed", "deleted": "InProgress",
	}, rule)
	for _, s := range jobsIn(t, "failed") {
		mustDiffer(t, rule, s, s.withCondition(t, "Failed", func(c map[string]any) { c["status"] = "False" }))
		mustDiffer(t, rule, s, s.with(func(object map[string]any) { mapAt(object, "metadata")["generation"] = int64(9) }))
	}
	for _, s := range jobsIn(t, "succeeded") {
		mustDiffer(t, rule, s, s.withCondition(t, "Succeeded", func(c map[string]any) { c["type"] = "Complete" }))
	}
}

// TestFluxKnowsEachKind: the example is a Kustomization that waits, with exactly one check per kind.
func TestFluxKnowsEachKind(t *testing.T) {
	var k fluxKustomization
	configuration(t, &k, "flux", "kustomization.yaml")
	if k.APIVersion != "kustomize.toolkit.fluxcd.io/v1" || k.Kind != "Kustomization" || !k.Spec.Wait {
		t.Errorf("%s %s, wait: %v", k.APIVersion, k.Kind, k.Spec.Wait)
	}
	left := map[string]bool{}
	for _, check := range k.Spec.HealthCheckExprs {
		if left[check.Kind] {
			t.Errorf("two checks for %s: Flux would use the first", check.Kind)
		}
		left[check.Kind] = true
	}
	for _, s := range jobs(t) {
		delete(left, s.kind)
	}
	if len(left) > 0 {
		t.Errorf("checks for kinds that nobody serves: %v", left)
	}
}

// TestKStatus: what kstatus computes for a job without a check, in Flux, kpt and others. It reads Stalled and the generation; a job that
// has Failed is Current.
func TestKStatus(t *testing.T) {
	rule := func(s stored) string {
		result, err := kstatus.Compute(&unstructured.Unstructured{Object: s.object})
		if err != nil {
			return sprint(err)
		}
		return string(result.Status)
	}
	hold(t, map[string]string{
		"new": "Current", "created": "Current", "running": "Current", "restarting": "Current", "running-again": "Current",
		"suspended": "Current", "suspended-while-running": "Current", "resumed": "Current", "succeeded": "Current", "failed": "Current",
		"unobserved": "InProgress", "rejected": "Failed", "repaired": "Current", "rejected-edit-suspended": "Failed", "rejected-edit": "Failed", "repaired-edit": "Current",
		"rejected-edit-succeeded": "Failed", "deleted": "Terminating",
	}, rule)
	for _, s := range jobsIn(t, "rejected") {
		mustDiffer(t, rule, s, s.withCondition(t, "Stalled", func(c map[string]any) { c["type"] = "Rejected" }))
	}
}
