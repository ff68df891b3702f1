package versions

import (
	"maps"
	"slices"
	"strings"
)

// place is where a value stands in an object: the keys that lead to it. It has one at least.
type place []string

func placeOf(text string) place { return strings.Split(text, ".") }

func (p place) String() string { return strings.Join(p, ".") }

func (p place) parent() place { return p[:len(p)-1] }
func (p place) last() string  { return p[len(p)-1] }

// within says whether p is q, or below it.
func (p place) within(q place) bool { return len(p) >= len(q) && slices.Equal(p[:len(q)], q) }

// shared are the keys that both begin with.
func shared(p, q place) place {
	i := 0
	for i < len(p) && i < len(q) && p[i] == q[i] {
		i++
	}
	return p[:i]
}

// objectAt is the object that the keys lead to; nil if there is none.
func objectAt(root map[string]any, keys place) map[string]any {
	for _, key := range keys {
		root, _ = root[key].(map[string]any)
	}
	return root
}

func get(root map[string]any, p place) (value any, ok bool) {
	value, ok = objectAt(root, p.parent())[p.last()]
	return value, ok
}

// take removes what stands at a place and returns it.
func take(root map[string]any, p place) (value any, ok bool) {
	parent := objectAt(root, p.parent())
	if value, ok = parent[p.last()]; ok {
		delete(parent, p.last())
	}
	return value, ok
}

// put writes to a place, and makes the objects that lead to it. The caller knows that nothing else is in the way.
func put(root map[string]any, p place, value any) {
	for _, key := range p.parent() {
		next, ok := root[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			root[key] = next
		}
		root = next
	}
	root[p.last()] = value
}

// merge writes what is not there yet. Maps that are in both are merged; what is there stays.
func merge(into map[string]any, key string, value any) {
	is, there := into[key]
	if !there {
		into[key] = value
		return
	}
	to, ok := is.(map[string]any)
	from, both := value.(map[string]any)
	if !ok || !both {
		return
	}
	for k, v := range from {
		merge(to, k, v)
	}
}

// opened is a copy in which the objects at these places, listed from the top, can be changed. All else is shared.
func opened(object map[string]any, containers []place) map[string]any {
	object = maps.Clone(object)
	for _, p := range containers {
		if parent := objectAt(object, p.parent()); parent != nil {
			if m, ok := parent[p.last()].(map[string]any); ok {
				parent[p.last()] = maps.Clone(m)
			}
		}
	}
	return object
}

// deeper says whether a value has more levels than that.
func deeper(value any, levels int) bool {
	if levels < 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for _, m := range v {
			if deeper(m, levels-1) {
				return true
			}
		}
	case []any:
		for _, m := range v {
			if deeper(m, levels-1) {
				return true
			}
		}
	}
	return false
}

// void: as good as absent. API servers let a null and an empty string be where a field may be left out.
func void(value any) bool { return value == nil || value == "" }
