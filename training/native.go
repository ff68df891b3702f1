package training

import (
	"encoding/json"
	"math"
	"slices"

	"stoic/schema"
)

// NativeVersion is one version of the gang scheduling API of Kubernetes itself (KEP-4671, KEP-5832). Field names changed
// with each release, so each version has its own functions.
//
//	Kubernetes   version    objects of a job       its pods refer to        minCount
//	1.37         v1beta1    Workload, PodGroup     the PodGroup             may change
//	1.36         v1alpha2   Workload, PodGroup     the PodGroup             immutable; an event reports it
//	1.35         v1alpha1   Workload               a group of the Workload  immutable
//
// All objects have the name of the job, and are created before its pods.
type NativeVersion struct {
	Name string
	// Kinds are the resources of its objects, in order of creation. The last one contains the group of the pods.
	Kinds []schema.Resource
	// specs returns, for each of Kinds, the desired spec and the fields that are set at creation only.
	specs func(g nativeGroup) []nativeSpec
	// member returns the fields in the spec of a pod that assign it to the group.
	member func(job string) map[string]json.RawMessage
	// minCount reads it from the spec of the last of Kinds.
	minCount func(spec []byte) int
}

// nativeGroup holds the settings of the group of a job.
type nativeGroup struct {
	job           *Job
	minCount      int64
	priorityClass string
}

type nativeSpec struct{ spec, once map[string]any }

const nativeGroupName = "pods" // of the one group in a Workload

// NativeVersions returns the known versions, the newest first.
func NativeVersions() []NativeVersion {
	schedulingGroup := func(job string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"schedulingGroup": schema.JSON(map[string]string{"podGroupName": job})}
	}
	return []NativeVersion{
		{"v1beta1", []schema.Resource{native("v1beta1", "workloads", "Workload"), native("v1beta1", "podgroups", "PodGroup")}, specsV1Beta1, schedulingGroup, minCountOfGroup},
		{"v1alpha2", []schema.Resource{native("v1alpha2", "workloads", "Workload"), native("v1alpha2", "podgroups", "PodGroup")}, specsV1Alpha2, schedulingGroup, minCountOfGroup},
		{"v1alpha1", []schema.Resource{native("v1alpha1", "workloads", "Workload")}, specsV1Alpha1, func(job string) map[string]json.RawMessage {
			return map[string]json.RawMessage{"workloadRef": schema.JSON(map[string]string{"name": job, "podGroup": nativeGroupName})}
		}, minCountOfWorkload},
	}
}

func native(version, plural, kind string) schema.Resource {
	return schema.Resource{Group: "scheduling.k8s.io", Version: version, Plural: plural, Kind: kind}
}

// IsNative reports whether a resource belongs to native gang scheduling, in any version.
func IsNative(r schema.Resource) bool {
	return slices.ContainsFunc(NativeVersions(), func(v NativeVersion) bool { return v.Has(r) })
}

// Has reports whether a resource belongs to this version.
func (v *NativeVersion) Has(r schema.Resource) bool { return slices.Contains(v.Kinds, r) }

// Dependents returns the objects of this version that a job needs.
func (v *NativeVersion) Dependents(j *Job) []Dependent {
	if j.Replicas() == 0 {
		return nil
	}
	g := nativeGroup{job: j, minCount: min(j.groupMembers(), math.MaxInt32), priorityClass: j.Policy.Scheduling.PriorityClass}
	g.minCount = max(g.minCount, 1) // 0 is refused, and means what 1 does
	var all []Dependent
	for i, s := range v.specs(g) {
		all = append(all, Dependent{Resource: v.Kinds[i], Spec: written(s.spec), Once: written(s.once), Gate: GateExists})
	}
	return all
}

func written(fields map[string]any) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(fields))
	for name, value := range fields {
		all[name] = schema.JSON(value)
	}
	return all
}

// Member returns the fields in the spec of a pod that assign it to the group of a job.
func (v *NativeVersion) Member(job string) map[string]json.RawMessage { return v.member(job) }

// MinCount returns minCount from the stored spec of the last of Kinds; 0 if there is none. The spec may be anything.
func (v *NativeVersion) MinCount(spec []byte) int { return v.minCount(spec) }

type nativePolicy struct {
	Gang struct {
		MinCount int `json:"minCount"`
	} `json:"gang"`
}

// minCountOfGroup reads minCount from the spec of a PodGroup.
func minCountOfGroup(spec []byte) int {
	var read struct {
		Policy nativePolicy `json:"schedulingPolicy"`
	}
	if json.Unmarshal(spec, &read) != nil {
		return 0
	}
	return read.Policy.Gang.MinCount
}

// minCountOfWorkload reads minCount from the spec of a Workload of v1alpha1, which contains the group.
func minCountOfWorkload(spec []byte) int {
	var read struct {
		PodGroups []struct {
			Policy nativePolicy `json:"policy"`
		} `json:"podGroups"`
	}
	if json.Unmarshal(spec, &read) != nil || len(read.PodGroups) == 0 {
		return 0
	}
	return read.PodGroups[0].Policy.Gang.MinCount
}

func (g nativeGroup) policy() map[string]any {
	return map[string]any{"gang": map[string]any{"minCount": g.minCount}}
}

// controllerRef lets tools find the job of a Workload.
func (g nativeGroup) controllerRef() map[string]any {
	kind := g.job.Kind
	return map[string]any{"apiGroup": kind.Group, "kind": kind.Name, "name": g.job.Meta.Name}
}

// template returns the group template of a Workload. It keeps its first value, because it is immutable in all versions.
func (g nativeGroup) template() map[string]any {
	return g.withPriority(map[string]any{"name": nativeGroupName, "schedulingPolicy": g.policy()})
}

// withPriority sets priorityClassName, for an API server with workload-aware preemption; others drop the field.
func (g nativeGroup) withPriority(fields map[string]any) map[string]any {
	if g.priorityClass != "" {
		fields["priorityClassName"] = g.priorityClass
	}
	return fields
}

// workloadAndGroup returns the specs of a Workload and of a PodGroup, which has the given reference to the Workload.
func (g nativeGroup) workloadAndGroup(reference map[string]any) []nativeSpec {
	return []nativeSpec{
		{once: map[string]any{"controllerRef": g.controllerRef(), "podGroupTemplates": []any{g.template()}}},
		{spec: map[string]any{"schedulingPolicy": g.policy()}, once: g.withPriority(reference)},
	}
}

func specsV1Beta1(g nativeGroup) []nativeSpec {
	return g.workloadAndGroup(map[string]any{"workloadRef": map[string]any{"workloadName": g.job.Meta.Name, "templateName": nativeGroupName}})
}

func specsV1Alpha2(g nativeGroup) []nativeSpec {
	return g.workloadAndGroup(map[string]any{"podGroupTemplateRef": map[string]any{
		"workload": map[string]any{"workloadName": g.job.Meta.Name, "podGroupTemplateName": nativeGroupName}}})
}

func specsV1Alpha1(g nativeGroup) []nativeSpec {
	return []nativeSpec{{once: map[string]any{"controllerRef": g.controllerRef(),
		"podGroups": []any{map[string]any{"name": nativeGroupName, "policy": g.policy()}}}}}
}
