package mutation

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Part of an object that a mutation is in. A sample takes as many of each, as long as there are some.
type Part int

const (
	// Present: a field of the spec that the valid object has, or the spec.
	Present Part = iota
	// Absent: a field that the schema declares and the valid object does not have.
	Absent
	// Metadata: what API servers let through.
	Metadata
	// Status: what no operator writes.
	Status
)

// Mutation is one change of one place of a valid object.
type Mutation struct {
	// Path of the place that is changed.
	Path Path
	// What it is instead, in a few words that are unique for the path.
	What string
	Part Part
	// Contradicts: the schema declares the type of the place, and what stands there now is not of it.
	Contradicts bool
	// Large: the object is larger than a hundred kilobytes.
	Large bool
	// renamed: the field has another name.
	renamed string
	change  func(holder, step any) any
}

// Name is unique among the mutations of an object: "spec.target: the number 7".
func (m Mutation) Name() string { return m.Path.String() + ": " + m.What }

// None changes nothing: what is made of an object is as valid as the object.
func None() Mutation {
	return Mutation{Path: Path{"spec"}, What: "as it is", change: func(holder, _ any) any { return holder }}
}

// Touches says whether what is reported about a path is about what was changed:
//
//	one of the two leads to the other
//	it stands beside, or below what stands beside    a request that is above a limit is reported where the request is
//	the sentence names the field                     a volume that is not there is missed where it is mounted
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
	return m.Renames(path)
}

// Renames says whether the path is that of the field under its other name, or leads there or on from there.
func (m Mutation) Renames(path string) bool {
	return m.renamed != "" && Related(path, append(slices.Clone(m.Path[:len(m.Path)-1]), m.renamed).String())
}

// Apply returns the object with the change in it. The object stays as it is, and shares with it what is not on the way.
func (m Mutation) Apply(object map[string]any) map[string]any {
	if len(m.Path) > 1 {
		if _, there := at(object, m.Path[:len(m.Path)-1]); !there {
			object = filled(object, m.Path[:len(m.Path)-1])
		}
	}
	changed, _ := with(object, m.Path, m.change).(map[string]any)
	return changed
}

// filled has objects along the path where there is nothing.
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

// put a value there, if there is a place for it.
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

// remove what stands there.
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

// rename a field.
func rename(to string) func(holder, step any) any {
	return func(holder, step any) any {
		fields, _ := holder.(map[string]any)
		out, key := maps.Clone(fields), step.(string) //nolint:forcetypeassert // paths are made here
		out[to] = out[key]
		delete(out, key)
		return out
	}
}

// All mutations of a valid object: of its spec, and of the fields that a schema declares beside (nil: none is known); of its
// metadata; and of its status, if it has one, which is what its operator would write. The name of the object is kept, or has more
// behind it.
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

// Sample draws n mutations, as many of each part as there are. At most one in fifty is large. They come in a random order, which
// the seed decides.
func Sample(all []Mutation, n int, seed uint64) []Mutation {
	random := rand.New(rand.NewPCG(seed, 7))
	parts := map[Part][]Mutation{}
	large := 0
	for _, i := range random.Perm(len(all)) {
		m := all[i]
		if m.Large {
			if large++; large > max(1, n/50) {
				continue
			}
		}
		parts[m.Part] = append(parts[m.Part], m)
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
