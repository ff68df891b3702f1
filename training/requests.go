package training

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"stoic/schema"
)

// amounts of resources, by name.
type amounts map[string]resource.Quantity

func (a amounts) add(b amounts) {
	for name, quantity := range b {
		sum := a[name]
		sum.Add(quantity)
		a[name] = sum
	}
}

// rise takes over what b has more of.
func (a amounts) rise(b amounts) {
	for name, quantity := range b {
		if have, ok := a[name]; !ok || have.Cmp(quantity) < 0 {
			a[name] = quantity
		}
	}
}

// written as quantities are in manifests; nothing of something is left out.
func (a amounts) written() map[string]string {
	texts := make(map[string]string, len(a))
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if quantity := a[name]; !quantity.IsZero() {
			texts[name] = quantity.String()
		}
	}
	return texts
}

// figure is a quantity as manifests may hold it, a string or a number. What is neither is an empty one.
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

// amounts that are asked for: requests, and of what has none, the limit, as the API server fills them in.
func (n needs) amounts() amounts {
	a := figures(n.Limits)
	maps.Copy(a, figures(n.Requests))
	return a
}

// podNeeds is what the scheduler reserves for one pod. The template was checked by the converter; what cannot be
// read of it counts as nothing.
//
//	init containers run one after the other, before the containers    the largest counts
//	those that restart always continue beside all that start later       they count as containers from there on
//	the pod's own resources stand in place of the sum of what they name, and its overhead comes on top
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

// Needs is what the first so many replicas of the job reserve together: those of the highest priority first, and of the
// same priority in the order of the kind's replica types.
func (j *Job) Needs(replicas int, priorities Priorities) map[string]string {
	sum := amounts{}
	for _, rtype := range j.byPriority(priorities) {
		count := min(rtype.Replicas, replicas)
		if count <= 0 {
			continue
		}
		replicas -= count
		var init []json.RawMessage
		if j.Kind.Init != nil {
			init = j.Kind.Init(j, rtype)
		}
		for name, quantity := range podNeeds(rtype.Template, init) {
			quantity.Mul(int64(count))
			sum.add(amounts{name: quantity})
		}
	}
	return sum.written()
}
