package convert

import (
	"reflect"
	"slices"
	"strings"

	"stoic/schema"
)

// Rule is what is asked of a Go type beyond its form: by the API server, of the types of Kubernetes, or by an operator. It
// becomes part of the type's shape when that is built, so that a walk looks nothing up.
type Rule struct {
	on  reflect.Type
	put func(*Shape)
}

// Need: the fields must be there, and be neither null nor empty.
func Need[T any](fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) { s.needs = append(s.needs, s.having(fields)...) }}
}

// require: the fields must be there and not be null, but may be empty.
func require[T any](fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) { s.required = append(s.required, s.having(fields)...) }}
}

// Span: the fields are integers from least to most.
func Span[T any](least, most int64, fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) {
		for _, field := range fields {
			own := s.own(field)
			own.min, own.max = least, most
		}
	}}
}

// mode: the fields are permissions of files.
func mode[T any](fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) {
		for _, field := range fields {
			own := s.own(field)
			own.min, own.max, own.octal = 0, 0o777, true
		}
	}}
}

// Words: a text of this type is one of a few, or empty, which says nothing.
func Words[T ~string](few ...T) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) {
		for _, word := range few {
			s.words = append(s.words, string(word))
		}
	}}
}

// spelt: the fields are texts of a form, or empty.
func spelt[T any](as spelling, fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) {
		for _, field := range fields {
			s.own(field).spelling = &as
		}
	}}
}

// Choice: the field is one of a few words, or empty.
func Choice[T any](field string, few ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) { s.own(field).words = few }}
}

// ExactlyOne of the fields is there.
func ExactlyOne[T any](fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) { s.oneOf = s.having(fields) }}
}

// Hide: no message repeats what is below the fields, as it may be a credential. Conditions and events reach logs and
// users that the object itself does not reach.
func Hide[T any](fields ...string) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) {
		for _, name := range fields {
			s.fields[name].hidden = true
		}
	}}
}

// And adds what fields ask of each other.
func And[T any](check func(*Reader, map[string]any)) Rule {
	return Rule{reflect.TypeFor[T](), func(s *Shape) { s.checks = append(s.checks, check) }}
}

// On changes the shape of a type by hand.
func On[T any](put func(*Shape)) Rule { return Rule{reflect.TypeFor[T](), put} }

// Advice is what is known of a field that its object does not have.
type Advice struct {
	Silent bool   // a problem says it already
	In     string // the field of the same object that it belongs in
	Hint   string // what to say if no field has a name like it
}

// Advise says what is known of fields that an object does not have.
func Advise[T any](advise func(within map[string]any, key string) Advice) Rule {
	return On[T](func(s *Shape) { s.Advise(advise) })
}

// Advise is the rule of that name, for a shape that is made by hand.
func (s *Shape) Advise(advise func(within map[string]any, key string) Advice) { s.advise = advise }

// having fails unless there are fields of these names.
func (s *Shape) having(names []string) []string {
	for _, name := range names {
		if s.fields[name] == nil {
			panic("convert: a rule about a field " + name + ", which is not among " + strings.Join(s.names, ", "))
		}
	}
	return names
}

// own is the shape of a field, or of the items of its list, which the field from then on shares with no other.
func (s *Shape) own(name string) *Shape {
	s.having([]string{name})
	f := s.fields[name]
	own := *f.shape
	f.shape = &own
	if own.form != list {
		return &own
	}
	item := *own.elem
	item.listed = true
	own.elem = &item
	return &item
}

// absent: nothing is there, or nothing is in it.
func absent(raw any) bool {
	switch v := raw.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

// misses counts required fields that are absent or null: each is decoded as the zero value, which is not what is stored. A null does not
// count where encoding/json writes the zero value as null, as it does for a time: a write would store null again.
func (r *Reader) misses(s *Shape, raw map[string]any) {
	for _, key := range s.required {
		if value, there := raw[key]; !there || value == nil && s.fields[key].notNull {
			r.problems.count++
		}
	}
}

// lacks says whether a field is absent; an empty value of another type is reported as such.
func (s *Shape) lacks(raw map[string]any, key string) bool {
	value := raw[key]
	_, many := value.([]any)
	return absent(value) && (value == nil || many == (s.fields[key].shape.form == list))
}

// whole checks what the rules say of an object as a whole.
func (r *Reader) whole(s *Shape, raw map[string]any) {
	for _, key := range s.needs {
		if s.lacks(raw, key) {
			r.ProblemIn(key, schema.MissingField, "", "be set", s.misnamed(raw, key))
		}
	}
	for _, key := range s.required {
		if raw[key] == nil {
			r.ProblemIn(key, schema.MissingField, "", "be set", s.misnamed(raw, key))
		}
	}
	if s.oneOf != nil {
		r.onlyOne(s, raw)
	}
	for _, check := range s.checks {
		check(r, raw)
	}
}

// misnamed names the field that was meant to be the one that is missing: a misspelt one, or one from another object.
func (s *Shape) misnamed(raw map[string]any, missing string) string {
	if hint := Misspelt(raw, missing); hint != "" {
		return hint
	}
	meant := ""
	for key := range raw {
		if s.fields[key] == nil && curtailed(key, missing) && (meant == "" || key < meant) {
			meant = key
		}
	}
	if meant == "" {
		return ""
	}
	return "rename `" + schema.Clean(meant, MaxKey) + "`"
}

// onlyOne checks that one of several fields is there. A field that no library knows may be another one of them.
func (r *Reader) onlyOne(s *Shape, raw map[string]any) {
	first := ""
	for _, key := range s.oneOf {
		switch {
		case raw[key] == nil:
		case first == "":
			first = key
		default:
			r.ProblemIn(key, schema.Conflict, "`"+key+"` beside `"+first+"`", "be the only one of the two", "remove one")
			return
		}
	}
	if first == "" {
		hint, misspelt := "", ""
		for key, value := range raw {
			if value == nil || s.fields[key] != nil {
				continue
			}
			at := slices.IndexFunc(s.oneOf, func(known string) bool { return strings.EqualFold(key, known) })
			if at < 0 {
				return
			}
			if misspelt == "" || key < misspelt { // the order of keys is another one each time
				hint, misspelt = Misspelt(raw, s.oneOf[at]), key
			}
		}
		r.Problem(schema.MissingField, "", "have one of `"+strings.Join(s.oneOf, "`, `")+"`", hint)
	}
}

// text checks a text against what the rules say of its field.
func (r *Reader) text(s *Shape, v string) (sound bool) {
	switch {
	case s.limits != nil && !r.length(s.limits, v):
		return false
	case v == "" && !s.listed:
	case s.words != nil && !slices.Contains(s.words, v):
		if !r.Full() {
			r.choice(v, s.words)
		}
		return false
	case s.spelling != nil && !s.spelling.legal(v):
		if r.Full() {
			return false
		}
		hint := ""
		if s.spelling.suggest != nil && !r.at.hidden() {
			hint = s.spelling.suggest(v)
		}
		r.Problem(s.spelling.code, r.quoted(v), s.spelling.want, hint)
		return false
	}
	return true
}
