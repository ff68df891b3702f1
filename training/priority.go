package training

import (
	"cmp"
	"encoding/json"
	"slices"

	"stoic/schema"
)

// Priorities are the values of the cluster's PriorityClasses, by name. The value of "" is that of pods that name no class:
// the global default's, if there is one. A class that is not there counts as 0. nil: the classes are not known.
type Priorities map[string]int32

// PriorityClasses are the resource that they are read from.
func PriorityClasses() schema.Resource {
	return schema.Resource{Group: "scheduling.k8s.io", Version: "v1", Plural: "priorityclasses", Kind: "PriorityClass", Cluster: true}
}

// PriorityState is what the cache keeps of a PriorityClass beside its metadata.
type PriorityState struct {
	Value         int32
	GlobalDefault bool
}

// PrioritiesOf are the values of all classes that are there; nil if they cannot be read. While there are two global
// defaults, the API server takes the lower one.
func PrioritiesOf(classes schema.Children) Priorities {
	if classes.Unknown {
		return nil
	}
	values, hasDefault := Priorities{}, false
	for i := range classes.Items {
		class, ok := classes.Items[i].Object.(PriorityState)
		if !ok {
			continue
		}
		values[classes.Items[i].Name] = class.Value
		if class.GlobalDefault && (!hasDefault || class.Value < values[""]) {
			values[""], hasDefault = class.Value, true
		}
	}
	return values
}

// PriorityClass is the class that a replica type's pods name, or an empty string.
func (r *ReplicaType) PriorityClass() string {
	var pod struct {
		Spec struct {
			PriorityClassName string `json:"priorityClassName"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(r.Template, &pod) // what cannot be read is none
	return pod.Spec.PriorityClassName
}

// mixesPriorities: the pods of its replica types do not all name the same class.
func (j *Job) mixesPriorities() bool {
	for i := range j.ReplicaTypes {
		if j.ReplicaTypes[i].PriorityClass() != j.ReplicaTypes[0].PriorityClass() {
			return true
		}
	}
	return false
}

// byPriority are the replica types, those of the highest priority first, else in the order of the kind.
func (j *Job) byPriority(priorities Priorities) []*ReplicaType {
	type ranked struct {
		rtype    *ReplicaType
		priority int32
	}
	all := make([]ranked, len(j.ReplicaTypes))
	for i := range j.ReplicaTypes {
		all[i].rtype = &j.ReplicaTypes[i]
		if len(priorities) > 0 {
			all[i].priority = priorities[j.ReplicaTypes[i].PriorityClass()]
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(b.priority, a.priority) })
	rtypes := make([]*ReplicaType, len(all))
	for i := range all {
		rtypes[i] = all[i].rtype
	}
	return rtypes
}
