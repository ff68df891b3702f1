package schema

import (
	"encoding/json"
	"strings"
)

// Gang says which scheduler places the pods of a job together, all or none. The zero value: none does.
//
//	name             scheduler                  group of a job              pods carry    pods wait until
//	volcano          Volcano                    scheduling.volcano.sh       annotations   the group is admitted
//	any other        with its coscheduling      scheduling.x-k8s.io         a label       the group exists
//	                 plugin, of that name
type Gang struct {
	// Scheduler is the name as --gang-scheduler-name gives it.
	Scheduler string
}

const volcano = "volcano"

// What pods of a group carry.
const (
	AnnotationGroup = "scheduling.k8s.io/group-name"  // Volcano
	AnnotationTask  = "volcano.sh/task-spec"          // Volcano
	LabelGroup      = "scheduling.x-k8s.io/pod-group" // the coscheduling plugin
)

// On says whether pods are placed together at all.
func (g Gang) On() bool { return g.Scheduler != "" }

func (g Gang) volcano() bool { return strings.EqualFold(g.Scheduler, volcano) }

// Name is what pods name as their scheduler.
func (g Gang) Name() string {
	if g.volcano() {
		return volcano
	}
	return g.Scheduler
}

// Resource is that of the groups.
func (g Gang) Resource() Resource {
	if g.volcano() {
		return PodGroups()
	}
	return PluginPodGroups()
}

// Marks are the labels and annotations by which the scheduler knows the group of a pod.
func (g Gang) Marks(job string, role *Role) (labels, annotations map[string]string) {
	if g.volcano() {
		return nil, map[string]string{AnnotationGroup: job, AnnotationTask: role.Label}
	}
	return map[string]string{LabelGroup: job}, nil
}

// group of a job. What a gang needs is the sum over its first members in the order of the kind's roles: the values of
// priority classes, which nothing of ours may read, do not change which members those are.
func (g Gang) group(j *Job) Extra {
	policy := j.Policy.Scheduling
	members := int64(j.Replicas())
	if policy.MinAvailable.Set {
		members = policy.MinAvailable.Value
	}
	resources := policy.MinResources
	if len(resources) == 0 {
		resources = j.Needs(int(min(members, MaxReplicas)))
	}
	spec := map[string]json.RawMessage{"minMember": JSON(members), "minResources": orNull(resources, len(resources) == 0)}
	if !g.volcano() {
		timeout := policy.TimeoutSeconds
		spec["scheduleTimeoutSeconds"] = orNull(timeout.Value, !timeout.Set)
		return Extra{Resource: g.Resource(), Spec: spec, Gate: GateExists}
	}
	queue := policy.Queue
	if queue == "" {
		queue = "default"
	}
	spec["priorityClassName"] = orNull(policy.PriorityClass, policy.PriorityClass == "")
	// A group stays in its queue; Volcano may have chosen another one for the namespace.
	return Extra{Resource: g.Resource(), Spec: spec, Once: map[string]json.RawMessage{"queue": JSON(queue)}, Gate: GateAdmitted}
}

func orNull(value any, absent bool) json.RawMessage {
	if absent {
		return json.RawMessage("null")
	}
	return JSON(value)
}
