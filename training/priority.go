package training

import (
	"cmp"
	"encoding/json"
	"slices"

	"stoic/schema"
)

// Priorities holds the values of the cluster's PriorityClasses by name. The key "" holds the value for pods that name no
// class: that of the global default, if there is one. A missing class counts as 0. nil: the classes are unknown.
type Priorities map[string]int32

// PriorityClasses returns the resource that Priorities are read from.
func PriorityClasses() schema.Resource {
	return schema.Resource{Group: "scheduling.k8s.io", Version: "v1", Plural: "priorityclasses", Kind: "PriorityClass", Cluster: true}
}

// PriorityState is what the cache keeps of a PriorityClass in addition to its metadata.
type PriorityState struct {
	Value         int32
	GlobalDefault bool
}

// PrioritiesOf returns the values of all classes; nil if they cannot be read. If there are two global defaults, the lower
// one counts, as in the API server.
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

// PriorityClass returns the priorityClassName of the replica type's pods, or an empty string.
func (r *ReplicaType) PriorityClass() string {
	var pod struct {
		Spec struct {
			PriorityClassName string `json:"priorityClassName"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(r.Template, &pod) // what cannot be read is none
	return pod.Spec.PriorityClassName
}

// mixesPriorities reports whether the replica types name different priority classes.
func (j *Job) mixesPriorities() bool {
	for i := range j.ReplicaTypes {
		if j.ReplicaTypes[i].PriorityClass() != j.ReplicaTypes[0].PriorityClass() {
			return true
		}
	}
	return false
}

// byPriority returns the replica types in descending order of priority; equal ones in the order of the kind.
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
