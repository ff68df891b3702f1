package training

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"stoic/schema"
)

// amounts holds quantities by the name of the resource.
type amounts map[string]resource.Quantity

func (a amounts) add(b amounts) {
	for name, quantity := range b {
		sum := a[name]
		sum.Add(quantity)
		a[name] = sum
	}
}

// rise sets each quantity to the maximum of a and b.
func (a amounts) rise(b amounts) {
	for name, quantity := range b {
		if have, ok := a[name]; !ok || have.Cmp(quantity) < 0 {
			a[name] = quantity
		}
	}
}

// written returns the quantities as they are written in manifests, without those that are zero.
func (a amounts) written() map[string]string {
	texts := make(map[string]string, len(a))
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if quantity := a[name]; !quantity.IsZero() {
			texts[name] = quantity.String()
		}
	}
	return texts
}

// figure is a quantity as it may appear in manifests: a string or a number. Other values do not parse as a quantity.
type figure string

func (f *figure) UnmarshalJSON(text []byte) error {
	var quoted string
	if json.Unmarshal(text, &quoted) != nil {
		quoted = string(text)
	}
	*f = figure(quoted)
	return nil
}

type (
	needs struct {
		Requests map[string]figure `json:"requests"`
		Limits   map[string]figure `json:"limits"`
	}
	needy struct {
		RestartPolicy string `json:"restartPolicy"`
		Resources     needs  `json:"resources"`
	}
)

func figures(of map[string]figure) amounts {
	a := make(amounts, len(of))
	for name, text := range of {
		if quantity, ok := schema.ParseQuantity(string(text)); ok {
			a[name] = quantity
		}
	}
	return a
}

// amounts returns the requests. A resource without a request counts with its limit, as in the API server's defaulting.
func (n needs) amounts() amounts {
	a := figures(n.Limits)
	maps.Copy(a, figures(n.Requests))
	return a
}

// podNeeds returns what the scheduler reserves for one pod. The converter has checked the template; unreadable parts count
// as nothing.
//
//	init containers run one after the other, before the containers       the largest counts
//	those with restartPolicy Always run beside everything started later  they count as containers from then on
//	pod-level resources replace the sums of the resources that they name; the overhead is added
func podNeeds(template []byte, init []json.RawMessage) amounts {
	var pod struct {
		Spec struct {
			Containers     []needy           `json:"containers"`
			InitContainers []needy           `json:"initContainers"`
			Resources      needs             `json:"resources"`
			Overhead       map[string]figure `json:"overhead"`
		} `json:"spec"`
	}
	_ = json.Unmarshal(template, &pod) // continues behind what it cannot read
	before := pod.Spec.InitContainers
	for _, raw := range init {
		var container needy
		_ = json.Unmarshal(raw, &container) // ours
		before = append(before, container)
	}
	beside, most := amounts{}, amounts{}
	for _, c := range before {
		at := maps.Clone(beside)
		at.add(c.Resources.amounts())
		most.rise(at)
		if c.RestartPolicy == string(RestartAlways) {
			beside = at
		}
	}
	for _, c := range pod.Spec.Containers {
		beside.add(c.Resources.amounts())
	}
	most.rise(beside)
	maps.Copy(most, pod.Spec.Resources.amounts())
	most.add(figures(pod.Spec.Overhead))
	return most
}

// Needs returns what the first replicas of the job reserve together. Replicas are ordered by descending priority, and
// with equal priority by the order of the kind's replica types.
func (j *Job) Needs(replicas int, priorities Priorities) map[string]string {
	sum := amounts{}
	for _, rtype := range j.byPriority(priorities) {
		count := max(min(rtype.Replicas, replicas), 0)
		replicas -= count
		sum.add(j.needsOf(rtype, count))
	}
	return sum.written()
}

// NeedsToStart returns what the replicas that the job cannot start without reserve together.
func (j *Job) NeedsToStart() map[string]string {
	sum := amounts{}
	for i := range j.ReplicaTypes {
		rtype := &j.ReplicaTypes[i]
		sum.add(j.needsOf(rtype, rtype.Needed()))
	}
	return sum.written()
}

// needsOf returns what so many replicas of a replica type reserve.
func (j *Job) needsOf(rtype *ReplicaType, replicas int) amounts {
	if replicas == 0 {
		return nil
	}
	needs := podNeeds(rtype.Template, j.AddedInitContainers(rtype))
	for name, quantity := range needs {
		quantity.Mul(int64(replicas))
		needs[name] = quantity
	}
	return needs
}
