package convert

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// goField is a field that encoding/json reads and writes, of a struct or of a struct embedded in it.
type goField struct {
	reflect.StructField
	in    reflect.Type // the struct that declares it
	index []int        // leads to it from the outermost struct
	name  string       // in JSON
	named bool         // by its tag
	// sealed names the embedded pointer to an unexported struct that holds the field; encoding/json cannot allocate it.
	sealed string
}

func (f goField) String() string { return f.in.String() + "." + f.Name }

// embedded is a struct whose fields count as fields of the struct that embeds it.
type embedded struct {
	t      reflect.Type
	index  []int
	sealed string
}

// jsonFields returns the fields of a struct that encoding/json reads and writes, in order of depth. Of several fields with one name
// the least deeply embedded one counts, and at equal depth the one that a tag names. It panics if encoding/json leaves out a field
// that a user may think is read, and if a tag has no effect.
func jsonFields(t reflect.Type) (all []goField) {
	taken, visited := map[string]bool{}, map[reflect.Type]bool{}
	for level := []embedded{{t: t}}; len(level) > 0; {
		var here []goField
		var next []embedded
		for _, e := range level {
			if visited[e.t] {
				continue
			}
			for i := range e.t.NumField() {
				f := goField{StructField: e.t.Field(i), in: e.t, index: append(slices.Clone(e.index), i), sealed: e.sealed}
				switch inner, how := f.read(); how {
				case isField:
					if !taken[f.name] {
						here = append(here, f)
					}
				case isEmbedded:
					if !f.IsExported() && f.Type.Kind() == reflect.Pointer && f.sealed == "" {
						f.sealed = f.String()
					}
					next = append(next, embedded{inner, f.index, f.sealed})
				}
			}
		}
		for _, e := range level {
			visited[e.t] = true
		}
		all = append(all, dominant(here, taken)...)
		level = next
	}
	return all
}

// dominant returns the fields of one depth that encoding/json reads and writes.
func dominant(here []goField, taken map[string]bool) (all []goField) {
	slices.SortStableFunc(here, func(a, b goField) int { return strings.Compare(a.name, b.name) })
	for i := 0; i < len(here); {
		same, first := here[i:i+1:i+1], here[i]
		for i++; i < len(here) && here[i].name == first.name; i++ {
			switch f := here[i]; {
			case f.named == first.named:
				same = append(same, f)
			case f.named:
				same, first = here[i:i+1:i+1], f
			}
		}
		if len(same) > 1 {
			panic(fmt.Sprintf("convert: %s and %s are both %q in JSON, so that encoding/json leaves out both", first, same[1], first.name))
		}
		if first.sealed != "" {
			panic(fmt.Sprintf("convert: %s is in %s, a pointer to a struct that is not exported, which encoding/json cannot make; embed it without the pointer",
				first, first.sealed))
		}
		taken[first.name] = true
		all = append(all, first)
	}
	return all
}

// handling is what encoding/json does with a field of a struct.
type handling int

const (
	leftOut handling = iota
	isField
	isEmbedded
)

// read returns what encoding/json does with a field, and the struct if it is embedded. It sets the name if it is a field.
func (f *goField) read() (inner reflect.Type, how handling) {
	if inner = f.Type; inner.Kind() == reflect.Pointer && inner.Name() == "" {
		inner = inner.Elem()
	}
	tag := f.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	if validName(name) {
		f.name, f.named = name, true
	}
	switch isStruct := inner.Kind() == reflect.Struct; {
	case !f.IsExported() && !(f.Anonymous && isStruct):
		f.notTagged("the field is not exported")
		return nil, leftOut
	case tag == "-":
		f.notTagged("JSON leaves out the field")
		return nil, leftOut
	case f.Anonymous && isStruct && !f.named:
		f.notTagged("the fields of an embedded struct stand among those of the struct around it")
		return inner, isEmbedded
	case !f.named:
		f.name = f.Name
	}
	f.check(strings.Split(options, ","))
	return nil, isField
}

// check panics if the tag has options with another effect in encoding/json than users expect.
func (f *goField) check(options []string) {
	if slices.Contains(options, "inline") && !f.Anonymous {
		panic(fmt.Sprintf("convert: %s has the tag json:%q, of which encoding/json does not know inline: it writes a field %q; embed the struct, or remove the option",
			f, f.Tag.Get("json"), f.name))
	}
	if slices.Contains(options, "string") {
		panic(fmt.Sprintf("convert: %s has the tag json:%q, by which encoding/json writes a string where the type has another value; use no ,string", f, f.Tag.Get("json")))
	}
}

// notTagged panics if a field that is not in JSON has a tag of this package.
func (f *goField) notTagged(why string) {
	if tag, ok := f.Tag.Lookup(TagName); ok {
		panic(fmt.Sprintf("convert: the tag %s:%q of %s has no effect: %s", TagName, tag, f, why))
	}
}

// untagged panics if a struct with its own or an embedded decoder has a field with a tag of this package.
func untagged(t reflect.Type) {
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := goField{StructField: t.Field(i), in: t}
		f.notTagged("the struct has a decoder of its own, or embeds one")
	}
}

// validName reports whether encoding/json takes a name from a tag.
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
}
