package versions

import (
	"maps"
	"slices"
	"strings"
)

// place is the place of a value in an object: the keys that lead to it, at least one.
type place []string

func placeOf(text string) place { return strings.Split(text, ".") }

func (p place) String() string { return strings.Join(p, ".") }

func (p place) parent() place { return p[:len(p)-1] }
func (p place) last() string  { return p[len(p)-1] }

// within reports whether p is q, or below it.
func (p place) within(q place) bool { return len(p) >= len(q) && slices.Equal(p[:len(q)], q) }

// shared returns the keys that both begin with.
func shared(p, q place) place {
	i := 0
	for i < len(p) && i < len(q) && p[i] == q[i] {
		i++
	}
	return p[:i]
}

// objectAt returns the object at the keys; nil if there is none.
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

// take removes the value at a place and returns it.
func take(root map[string]any, p place) (value any, ok bool) {
	parent := objectAt(root, p.parent())
	if value, ok = parent[p.last()]; ok {
		delete(parent, p.last())
	}
	return value, ok
}

// put writes to a place, and creates the objects that lead to it. The caller knows that no other value is in the way.
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

// merge adds values that do not exist yet. Maps that exist in both are merged; existing values stay.
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

// opened returns a copy in which the objects at these places, listed from the top, can be changed. It shares all else.
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

// deeper reports whether a value has more levels than that.
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

// void reports whether a value counts as absent. API servers allow null and an empty string where a field may be left out.
func void(value any) bool { return value == nil || value == "" }
