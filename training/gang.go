package training

import (
	"encoding/json"
	"strings"

	"stoic/schema"
)

// Gang says which scheduler places the pods of a job together, all or none. The zero value: no gang scheduling.
//
//	name             scheduler                  group of a job              pods carry    pods wait until
//	volcano          Volcano                    scheduling.volcano.sh       annotations   the group is admitted
//	any other        with its coscheduling      scheduling.x-k8s.io         a label       the group exists
//	                 plugin, of that name
//	(Native)         Kubernetes' own            scheduling.k8s.io           a field       the group exists
type Gang struct {
	// Scheduler is the value of --gang-scheduler-name.
	Scheduler string
	// Native is the value of --native-gang-scheduling. The operator uses the version of the API that the cluster serves.
	Native bool
}

const volcano = "volcano"

// Annotations and labels that assign a pod to its group.
const (
	AnnotationGroup = "scheduling.k8s.io/group-name"  // Volcano
	AnnotationTask  = "volcano.sh/task-spec"          // Volcano
	LabelGroup      = "scheduling.x-k8s.io/pod-group" // the coscheduling plugin
)

// On reports whether a named scheduler places pods together.
func (g Gang) On() bool { return g.Scheduler != "" }

// Resources returns the resources of the groups, those of native gang scheduling included.
func (g Gang) Resources() (all []schema.Resource) {
	if g.On() {
		all = append(all, g.Resource())
	}
	if g.Native {
		for _, v := range NativeVersions() {
			all = append(all, v.Kinds...)
		}
	}
	return all
}

func (g Gang) volcano() bool { return strings.EqualFold(g.Scheduler, volcano) }

// Name returns the schedulerName of the pods.
func (g Gang) Name() string {
	if g.volcano() {
		return volcano
	}
	return g.Scheduler
}

// Resource returns the resource of the groups of the named scheduler.
func (g Gang) Resource() schema.Resource {
	if g.volcano() {
		return PodGroups()
	}
	return PluginPodGroups()
}

// Marks returns the labels and annotations by which the named scheduler finds the group of a pod.
func (g Gang) Marks(job string, rtype *ReplicaType) (labels, annotations map[string]string) {
	if g.volcano() {
		return nil, map[string]string{AnnotationGroup: job, AnnotationTask: rtype.Label}
	}
	return map[string]string{LabelGroup: job}, nil
}

// group returns the group of a job. minMember is at most the number of replicas that start without waiting; minResources
// also covers those that wait. Without minAvailable the members are the replicas that the job cannot start without. With it,
// minResources is the sum over the first members, those of the highest priority. While the priorities are unknown and would
// change the sum, a new group gets the sum in the order of the kind's replica types, and an existing group keeps its value.
func (g Gang) group(j *Job, priorities Priorities) Dependent {
	policy := j.Policy.Scheduling
	members := j.groupMembers()
	resources, known := policy.MinResources, true
	switch asked := policy.MinAvailable; {
	case len(resources) > 0:
	case asked.Set:
		resources = j.Needs(int(min(asked.Value, MaxReplicas)), priorities)
		known = priorities != nil || asked.Value >= int64(j.Replicas()) || !j.mixesPriorities()
	default:
		resources = j.NeedsToStart()
	}
	spec, once := map[string]json.RawMessage{"minMember": schema.JSON(members)}, map[string]json.RawMessage(nil)
	if written := orNull(resources, len(resources) == 0); known {
		spec["minResources"] = written
	} else {
		once = map[string]json.RawMessage{"minResources": written}
	}
	if !g.volcano() {
		timeout := policy.TimeoutSeconds
		spec["scheduleTimeoutSeconds"] = orNull(timeout.Value, !timeout.Set)
		return Dependent{Resource: g.Resource(), Spec: spec, Once: once, Gate: GateExists}
	}
	queue := policy.Queue
	if queue == "" {
		queue = "default"
	}
	spec["priorityClassName"] = orNull(policy.PriorityClass, policy.PriorityClass == "")
	// The queue is only set at creation: Volcano may choose another one for the namespace.
	if once == nil {
		once = map[string]json.RawMessage{}
	}
	once["queue"] = schema.JSON(queue)
	return Dependent{Resource: g.Resource(), Spec: spec, Once: once, Gate: GateAdmitted}
}

// groupMembers returns the number of pods that are placed together: what minAvailable asks for, but no more than start
// without waiting; otherwise FirstMembers.
func (j *Job) groupMembers() int64 {
	asked := j.Policy.Scheduling.MinAvailable
	if !asked.Set {
		return int64(j.FirstMembers())
	}
	if early := j.Early(); early < j.Replicas() {
		return min(asked.Value, int64(early)) // the scheduler would wait for pods that wait for those it has not placed
	}
	return asked.Value
}

func orNull(value any, absent bool) json.RawMessage {
	if absent {
		return json.RawMessage("null")
	}
	return schema.JSON(value)
}
