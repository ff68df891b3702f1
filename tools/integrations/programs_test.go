package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/tidwall/gjson"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// program says what a program makes of a job. It returns "-" for a kind that the program does not know.
type program struct {
	name string
	read func(job) string
}

func allPrograms(t *testing.T) []program {
	return []program{
		{"Argo CD", argoHealth(t)},
		{"Flux", fluxStatus(t)},
		{"kstatus", kstatusStatus},
		{"Argo Workflows", workflowStep(t)},
		{"Katib", katibTrial(t)},
		{"Kueue", kueueState},
	}
}

// argoHealth runs the health script of a kind with the variable obj and the libraries package, base and table, as Argo CD does. An
// object that is being deleted is Progressing without a script.
func argoHealth(t *testing.T) func(job) string {
	scripts, _, err := unstructured.NestedStringMap(readConfiguration(t, "argocd/health/argocd-cm.yaml")[0].Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	return func(j job) string {
		if j.GetDeletionTimestamp() != nil {
			return "Progressing"
		}
		state := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer state.Close()
		for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
			if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
				return err.Error()
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		state.SetContext(ctx)
		state.SetGlobal("obj", luaValue(state, j.Object))
		if err := state.DoString(scripts["resource.customizations.health.kubeflow.org_"+j.GetKind()]); err != nil {
			return err.Error()
		}
		result, ok := state.Get(-1).(*lua.LTable)
		if !ok {
			return "the script returns no table"
		}
		return lua.LVAsString(result.RawGetString("status"))
	}
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		list := state.NewTable()
		for _, item := range v {
			list.Append(luaValue(state, item))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for name, member := range v {
			table.RawSetString(name, luaValue(state, member))
		}
		return table
	}
	return lua.LNil
}

// fluxStatus evaluates the health expressions of a kind as kustomize-controller does: InProgress while the newest generation is not
// observed, then the first expression that is true. An expression that fails makes Flux wait.
func fluxStatus(t *testing.T) func(job) string {
	var kustomization struct {
		Spec struct {
			HealthCheckExprs []struct{ Kind, InProgress, Failed, Current string }
		}
	}
	convertInto(t, readConfiguration(t, "flux/kustomization.yaml")[0], &kustomization)
	environment, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	isTrue := func(expression string, j job) (bool, error) {
		parsed, issues := environment.Parse(expression)
		if issues.Err() != nil {
			return false, issues.Err()
		}
		compiled, err := environment.Program(parsed)
		if err != nil {
			return false, err
		}
		value, _, err := compiled.Eval(j.Object)
		if err != nil {
			return false, err
		}
		return value.Value() == true, nil
	}
	return func(j job) string {
		observed, found, _ := unstructured.NestedInt64(j.Object, "status", "observedGeneration")
		if found && observed != j.GetGeneration() {
			return "InProgress"
		}
		for _, check := range kustomization.Spec.HealthCheckExprs {
			if check.Kind != j.GetKind() {
				continue
			}
			for _, step := range []struct{ status, expression string }{{"InProgress", check.InProgress}, {"Failed", check.Failed}, {"Current", check.Current}} {
				is, err := isTrue(step.expression, j)
				if err != nil {
					return "waits"
				}
				if is {
					return step.status
				}
			}
			return "InProgress"
		}
		return "no check"
	}
}

func kstatusStatus(j job) string {
	result, err := kstatus.Compute(j.Unstructured)
	if err != nil {
		return err.Error()
	}
	return string(result.Status)
}

// jobFields are the fields of a job that a label selector names by their gjson paths.
type jobFields []byte

func (f jobFields) Has(path string) bool              { return gjson.GetBytes(f, path).Exists() }
func (f jobFields) Get(path string) string            { return gjson.GetBytes(f, path).String() }
func (f jobFields) Lookup(path string) (string, bool) { return f.Get(path), f.Has(path) }

// workflowStep evaluates the conditions of a step of Argo Workflows, which are written as label selectors. The step fails if any
// requirement of the failure condition is met, and succeeds if all of the success condition are.
func workflowStep(t *testing.T) func(job) string {
	var template struct {
		Spec struct {
			Templates []struct {
				Resource struct{ SuccessCondition, FailureCondition string }
			}
		}
	}
	convertInto(t, readConfiguration(t, "argo-workflows/train.yaml")[0], &template)
	step := template.Spec.Templates[0].Resource
	failure, err := labels.ParseToRequirements(step.FailureCondition)
	if err != nil {
		t.Fatal(err)
	}
	success, err := labels.ParseToRequirements(step.SuccessCondition)
	if err != nil {
		t.Fatal(err)
	}
	return func(j job) string {
		fields := jobFields(encode(j))
		matches := func(r labels.Requirement) bool { return r.Matches(fields) }
		if slices.ContainsFunc(failure, matches) {
			return "failed"
		}
		if slices.ContainsFunc(success, func(r labels.Requirement) bool { return !matches(r) }) {
			return "running"
		}
		return "succeeded"
	}
}

// trialTemplate is the part of a Katib Experiment that describes its trials.
type trialTemplate struct {
	PrimaryPodLabels                   map[string]string
	SuccessCondition, FailureCondition string
	TrialSpec                          struct{ APIVersion, Kind string }
}

func trialTemplates(t *testing.T) []trialTemplate {
	var all []trialTemplate
	for _, document := range readConfiguration(t, "katib/experiments.yaml") {
		var experiment struct {
			Spec struct{ TrialTemplate trialTemplate }
		}
		convertInto(t, document, &experiment)
		all = append(all, experiment.Spec.TrialTemplate)
	}
	return all
}

// katibTrial evaluates the conditions of an Experiment. They are gjson paths into the job; the failure condition comes first.
func katibTrial(t *testing.T) func(job) string {
	templates := trialTemplates(t)
	return func(j job) string {
		for _, template := range templates {
			if !j.isKind(template.TrialSpec.APIVersion, template.TrialSpec.Kind) {
				continue
			}
			for _, step := range []struct{ state, path string }{{"failed", template.FailureCondition}, {"succeeded", template.SuccessCondition}} {
				if len(gjson.GetBytes(encode(j), step.path).Array()) > 0 {
					return step.state
				}
			}
			return "running"
		}
		return "-"
	}
}

// kueueState is what Kueue's integration of a kind reads: whether a job is suspended, finished with a message, ready, and whether pods
// are active. Kueue integrates only the MPIJobs of mpi-operator.
func kueueState(j job) string {
	if j.isKind("kubeflow.org/v1", "MPIJob") {
		return "-"
	}
	var seen []string
	if suspend, _, _ := unstructured.NestedBool(j.Object, "spec", "runPolicy", "suspend"); suspend {
		seen = append(seen, "suspended")
	}
	for _, c := range j.conditions() {
		if c.Status == "True" && (c.Type == "Succeeded" || c.Type == "Failed") && c.Message != "" {
			seen = append(seen, c.Type)
		}
	}
	if j.isTrue("Running") {
		seen = append(seen, "ready")
	}
	counts, _, _ := unstructured.NestedMap(j.Object, "status", "replicaStatuses")
	for replicaType := range counts {
		// The launcher of an MPIJob of v2beta1 stays active while a worker restarts.
		if active, _, _ := unstructured.NestedInt64(counts, replicaType, "active"); active > 0 && replicaType == "Worker" {
			seen = append(seen, "active")
		}
	}
	return strings.Join(seen, "+")
}

func encode(j job) []byte {
	encoded, err := json.Marshal(j.Object)
	if err != nil {
		panic(fmt.Sprintf("encode %s: %v", j, err)) // it was read from JSON
	}
	return encoded
}

// convertInto decodes a configuration into a struct whose fields have the names of the configuration's, in any case.
func convertInto(t *testing.T, from *unstructured.Unstructured, into any) {
	t.Helper()
	encoded, err := json.Marshal(from.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, into); err != nil {
		t.Fatal(err)
	}
}
