package mutation

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Part is the part of an object that a mutation is in. A sample has as many of each part, as long as there are some.
type Part int

const (
	// Present: a field of the spec that the valid object has, or the spec.
	Present Part = iota
	// Absent: a field that the schema declares and the valid object lacks.
	Absent
	// Metadata: values that API servers accept.
	Metadata
	// Status: values that no operator writes.
	Status
)

// Mutation is one change of one place of a valid object.
type Mutation struct {
	// Path of the place that is changed.
	Path Path
	// What is the new value, in a few words that are unique for the path.
	What string
	Part Part
	// Contradicts: the schema declares the type of the place, and the new value has another.
	Contradicts bool
	// Large: the object is larger than a hundred kilobytes.
	Large bool
	// renamed: the field has another name.
	renamed string
	change  func(holder, step any) any
}

// Name returns a name that is unique among the mutations of an object: "spec.target: the number 7".
func (m Mutation) Name() string { return m.Path.String() + ": " + m.What }

// None returns a mutation that changes nothing: the result is as valid as the object.
func None() Mutation {
	return Mutation{Path: Path{"spec"}, What: "as it is", change: func(holder, _ any) any { return holder }}
}

// Touches reports whether a report about a path is about the change:
//
//	one of the two leads to the other
//	it is beside, or below a sibling                 a request that is above a limit is reported where the request is
//	the sentence names the field                     a missing volume is reported where it is mounted
func (m Mutation) Touches(path, sentence string) bool {
	if Related(path, m.Path.String()) {
		return true
	}
	if above := len(m.Path) - 2; above >= 2 && Related(path, m.Path[:above].String()) {
		return true
	}
	for _, step := range m.Path[1:] {
		if key, is := step.(string); is && key != "template" && key != "spec" && key != "metadata" && strings.Contains(strings.ReplaceAll(sentence, path, ""), key) {
			return true
		}
	}
	return m.renames(path)
}

// renames reports whether the path is that of the field under its other name, or leads there or on from there.
func (m Mutation) renames(path string) bool {
	return m.renamed != "" && Related(path, append(slices.Clone(m.Path[:len(m.Path)-1]), m.renamed).String())
}

// Apply returns the object with the change in it. The argument is not changed; both share what is not on the path.
func (m Mutation) Apply(object map[string]any) map[string]any {
	if len(m.Path) > 1 {
		if _, there := at(object, m.Path[:len(m.Path)-1]); !there {
			object = filled(object, m.Path[:len(m.Path)-1])
		}
	}
	changed, _ := with(object, m.Path, m.change).(map[string]any)
	return changed
}

// filled adds the missing objects along the path.
func filled(object map[string]any, p Path) map[string]any {
	out := maps.Clone(object)
	key, _ := p[0].(string)
	next, _ := out[key].(map[string]any)
	if len(p) > 1 {
		next = filled(next, p[1:])
	}
	if next == nil {
		next = map[string]any{}
	}
	out[key] = next
	return out
}

// put sets a value, if there is a place for it.
func put(value any) func(holder, step any) any {
	return func(holder, step any) any {
		switch holder := holder.(type) {
		case map[string]any:
			out, key := maps.Clone(holder), step.(string) //nolint:forcetypeassert // paths are made here
			if out == nil {
				out = map[string]any{}
			}
			out[key] = value
			return out
		case []any:
			out := slices.Clone(holder)
			out[step.(int)] = value //nolint:forcetypeassert // likewise
			return out
		}
		return holder
	}
}

// remove removes a value.
func remove(holder, step any) any {
	switch holder := holder.(type) {
	case map[string]any:
		out := maps.Clone(holder)
		delete(out, step.(string)) //nolint:forcetypeassert // paths are made here
		return out
	case []any:
		i := step.(int) //nolint:forcetypeassert // likewise
		return slices.Delete(slices.Clone(holder), i, i+1)
	}
	return holder
}

// rename renames a field.
func rename(to string) func(holder, step any) any {
	return func(holder, step any) any {
		fields, _ := holder.(map[string]any)
		out, key := maps.Clone(fields), step.(string) //nolint:forcetypeassert // paths are made here
		out[to] = out[key]
		delete(out, key)
		return out
	}
}

// All returns all mutations of a valid object: of its spec, with the missing fields that a schema declares (nil: none is known); of its
// metadata; and of its status, if it has one, which is what its operator would write. The name of the object is kept, or gets a suffix.
func All(object map[string]any, schema *Schema) []Mutation {
	values := values()
	all := inMetadata(object, values)
	for _, part := range []struct {
		field string
		part  Part
	}{{"spec", Present}, {"status", Status}} {
		value, there := object[part.field]
		if !there {
			continue
		}
		walk(value, Path{part.field}, func(p Path, old any) {
			for _, m := range of(p, old, schema, values) {
				m.Part = part.part
				all = append(all, m)
			}
			for _, m := range beside(p, old, schema, part.part, values) {
				all = append(all, m)
			}
		})
	}
	names := map[string]bool{}
	return slices.DeleteFunc(all, func(m Mutation) bool {
		name := m.Name()
		known := names[name]
		names[name] = true
		return known
	})
}

// Sample draws n mutations, as many of each part as possible. At most one in fifty is large. Each has a place in the order that depends
// only on the seed and its name: if there is one mutation more or less, as when an API server has stored another time, no other draw
// changes.
func Sample(all []Mutation, n int, seed uint64) []Mutation {
	type placed struct {
		Mutation
		name  string
		place uint64
	}
	ordered := make([]placed, 0, len(all))
	for _, m := range all {
		name, hash := m.Name(), fnv.New64a()
		fmt.Fprint(hash, seed, " ", name)
		place := rand.New(rand.NewPCG(hash.Sum64(), seed)).Uint64() // names that differ in their last letter have similar hashes
		ordered = append(ordered, placed{m, name, place})
	}
	slices.SortFunc(ordered, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
	})
	parts := map[Part][]Mutation{}
	large := 0
	for _, m := range ordered {
		if m.Large {
			if large++; large > max(1, n/50) {
				continue
			}
		}
		parts[m.Part] = append(parts[m.Part], m.Mutation)
	}
	var drawn []Mutation
	for len(drawn) < n {
		before := len(drawn)
		for _, part := range []Part{Present, Absent, Status, Metadata} {
			if rest := parts[part]; len(rest) > 0 && len(drawn) < n {
				drawn, parts[part] = append(drawn, rest[0]), rest[1:]
			}
		}
		if len(drawn) == before {
			break
		}
	}
	return drawn
}
