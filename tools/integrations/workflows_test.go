package integrations

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
)

// workflowTemplate is a template of Argo Workflows with steps that create resources.
type workflowTemplate struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Entrypoint string `json:"entrypoint"`
		Templates  []struct {
			Name     string       `json:"name"`
			Resource resourceStep `json:"resource"`
		} `json:"templates"`
	} `json:"spec"`
}

type resourceStep struct {
	Action            string `json:"action"`
	SetOwnerReference bool   `json:"setOwnerReference"`
	SuccessCondition  string `json:"successCondition"`
	FailureCondition  string `json:"failureCondition"`
	Manifest          string `json:"manifest"`
}

// fields are those of an object, found by gjson paths as labels are found by their names.
type fields []byte

func (f fields) Has(path string) bool   { return gjson.GetBytes(f, path).Exists() }
func (f fields) Get(path string) string { return gjson.GetBytes(f, path).String() }
func (f fields) Lookup(path string) (string, bool) {
	return f.Get(path), f.Has(path)
}

// argoStep returns the state of a step in Argo Workflows. The conditions are written as label selectors. The step fails if any
// requirement of the failure condition is met, and succeeds if all of the success condition are.
func argoStep(step resourceStep, s stored) string {
	text, err := json.Marshal(s.object)
	if err != nil {
		return sprint(err)
	}
	failure, err := labels.ParseToRequirements(step.FailureCondition)
	if err != nil {
		return sprint(err)
	}
	success, err := labels.ParseToRequirements(step.SuccessCondition)
	if err != nil {
		return sprint(err)
	}
	for _, requirement := range failure {
		if requirement.Matches(fields(text)) {
			return "failed"
		}
	}
	for _, requirement := range success {
		if !requirement.Matches(fields(text)) {
			return "running"
		}
	}
	return "succeeded"
}

func TestArgoWorkflowsConditions(t *testing.T) {
	var template workflowTemplate
	configuration(t, &template, "argo-workflows", "train.yaml")
	step := template.Spec.Templates[0].Resource
	rule := func(s stored) string { return argoStep(step, s) }
	hold(t, map[string]string{
		"new": "running", "created": "running", "running": "running", "restarting": "running", "running-again": "running",
		"suspended": "running", "suspended-while-running": "running", "resumed": "running", "succeeded": "succeeded", "failed": "failed",
		"unobserved": "running", "rejected": "failed", "repaired": "running", "rejected-edit-suspended": "running", "rejected-edit": "running", "repaired-edit": "running",
		"rejected-edit-succeeded": "succeeded", "deleted": "running",
	}, rule)
	for _, s := range jobsIn(t, "failed") {
		mustDiffer(t, rule, s, s.withCondition(t, "Failed", func(c map[string]any) { c["type"] = "Aborted" }))
	}
	for _, s := range jobsIn(t, "succeeded") {
		mustDiffer(t, rule, s, s.with(func(object map[string]any) { delete(mapAt(object, "status"), "completionTime") }))
	}
}

// TestArgoWorkflowsCounts: the older method, which counts workers, works for jobs whose workers all succeed. A rejected job has no
// counts, so the step waits forever: this is why train.yaml does not count.
func TestArgoWorkflowsCounts(t *testing.T) {
	step := resourceStep{SuccessCondition: "status.replicaStatuses.Worker.succeeded == 2", FailureCondition: "status.replicaStatuses.Worker.failed > 0"}
	for _, s := range jobs(t) {
		if s.is("MPIJob", "kubeflow.org/v1") || s.is("MPIJob", "kubeflow.org/v2beta1") {
			continue // its workers never end by themselves
		}
		want := map[string]string{"succeeded": "succeeded", "rejected": "running"}[s.state]
		if got := argoStep(step, s); want != "" && got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

// lastCondition returns the condition that the launchers of old Kubeflow Pipelines components read.
func lastCondition(s stored) string {
	all := s.conditions()
	if len(all) == 0 {
		return "goes on"
	}
	if last := all[len(all)-1]; (last.Type == "Succeeded" || last.Type == "Failed") && last.Status == "True" {
		return last.Type
	}
	return "goes on"
}

// firstOf returns the condition that arena reads: the first of these that is True.
func firstOf(s stored) string {
	for _, of := range []string{"Succeeded", "Failed", "Running"} {
		if s.isTrue(of) {
			return of
		}
	}
	return "pending"
}

func TestPipelinesLastCondition(t *testing.T) {
	want := map[string]string{"succeeded": "Succeeded", "failed": "Failed", "rejected": "Failed", "rejected-edit-succeeded": "Succeeded"}
	for _, state := range strings.Fields("new created running restarting running-again suspended suspended-while-running resumed unobserved repaired rejected-edit-suspended rejected-edit repaired-edit deleted") {
		want[state] = "goes on"
	}
	hold(t, want, lastCondition)
	for _, s := range jobsIn(t, "rejected") { // as it would be with Stalled behind Failed
		mustDiffer(t, lastCondition, s, s.with(func(object map[string]any) {
			list := mapAt(object, "status")["conditions"].([]any)
			list[0], list[1] = list[1], list[0]
		}))
	}
}

func TestArenaState(t *testing.T) {
	hold(t, map[string]string{
		"new": "pending", "created": "pending", "running": "Running", "restarting": "pending", "running-again": "Running",
		"suspended": "pending", "suspended-while-running": "pending", "resumed": "Running", "succeeded": "Succeeded", "failed": "Failed",
		"unobserved": "Running", "rejected": "Failed", "repaired": "Running", "rejected-edit-suspended": "pending", "rejected-edit": "Running", "repaired-edit": "Running",
		"rejected-edit-succeeded": "Succeeded", "deleted": "Running",
	}, firstOf)
	for _, s := range jobsIn(t, "failed") {
		mustDiffer(t, firstOf, s, s.withCondition(t, "Created", func(c map[string]any) { c["type"] = "Succeeded" }))
	}
}

// TestMLRunLauncher: mlrun reads the state of an MPIJob from the counts of its launcher.
func TestMLRunLauncher(t *testing.T) {
	launcher := func(s stored) string {
		for _, count := range []string{"active", "succeeded", "failed"} {
			if n, _ := mapAt(s.status(), "replicaStatuses", "Launcher")[count].(int64); n > 0 {
				return count
			}
		}
		return "none"
	}
	looked := 0
	for _, s := range jobs(t) {
		want := map[string]string{"created": "none", "running": "active", "succeeded": "succeeded", "failed": "failed"}[s.state]
		if s.kind != "MPIJob" || want == "" {
			continue
		}
		looked++
		if got := launcher(s); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	if looked != 8 {
		t.Errorf("looked at %d jobs", looked)
	}
}
