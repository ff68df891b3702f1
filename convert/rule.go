package convert

import (
	"reflect"
	"slices"
	"strings"

	"stoic/schema"
)

// rule is what the API server asks of a Go type beyond its form. It becomes part of the type's shape when that is
// built, so that a walk looks nothing up.
type rule struct {
	on  reflect.Type
	put func(*shape)
}

// need: the fields must be there, and be neither null nor empty.
func need[T any](fields ...string) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) { s.needs = append(s.needs, fields...) }}
}

// span: the fields are integers from least to most.
func span[T any](least, most int64, fields ...string) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) {
		for _, field := range fields {
			own := s.own(field)
			own.min, own.max = least, most
		}
	}}
}

// mode: the fields are permissions of files.
func mode[T any](fields ...string) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) {
		for _, field := range fields {
			own := s.own(field)
			own.min, own.max, own.octal = 0, 0o777, true
		}
	}}
}

// words: a text of this type is one of a few, or empty, which says nothing.
func words[T ~string](few ...T) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) {
		for _, word := range few {
			s.words = append(s.words, string(word))
		}
	}}
}

// spelt: the fields are texts of a form, or empty.
func spelt[T any](as spelling, fields ...string) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) {
		for _, field := range fields {
			s.own(field).spelling = &as
		}
	}}
}

// choice: the field is one of a few words, or empty.
func choice[T any](field string, few ...string) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) { s.own(field).words = few }}
}

// exactlyOne of the fields is there.
func exactlyOne[T any](fields ...string) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) { s.oneOf = fields }}
}

// and adds what fields ask of each other.
func and[T any](check func(*reader, map[string]any)) rule {
	return rule{reflect.TypeFor[T](), func(s *shape) { s.checks = append(s.checks, check) }}
}

// own is the shape of a field, or of the items of its list, which the field from then on shares with no other.
func (s *shape) own(name string) *shape {
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

// lacks says whether a field is absent; an empty value of another type is told as such.
func (s *shape) lacks(raw map[string]any, key string) bool {
	value := raw[key]
	_, many := value.([]any)
	return absent(value) && (value == nil || many == (s.fields[key].shape.form == list))
}

// whole checks what the rules say of an object as a whole.
func (r *reader) whole(s *shape, raw map[string]any) {
	for _, key := range s.needs {
		if s.lacks(raw, key) {
			r.problemIn(key, schema.MissingField, "", "be set", s.misnamed(raw, key))
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
func (s *shape) misnamed(raw map[string]any, missing string) string {
	if hint := misspelt(raw, missing); hint != "" {
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
	return "rename `" + schema.Clean(meant, keyLimit) + "`"
}

// onlyOne checks that one of several fields is there. A field that no library knows may be another one of them.
func (r *reader) onlyOne(s *shape, raw map[string]any) {
	first := ""
	for _, key := range s.oneOf {
		switch {
		case raw[key] == nil:
		case first == "":
			first = key
		default:
			r.problemIn(key, schema.Conflict, "`"+key+"` beside `"+first+"`", "be the only one of the two", "remove one")
			return
		}
	}
	if first == "" {
		hint := ""
		for key, value := range raw {
			if value == nil || s.fields[key] != nil {
				continue
			}
			at := slices.IndexFunc(s.oneOf, func(known string) bool { return strings.EqualFold(key, known) })
			if at < 0 {
				return
			}
			hint = misspelt(raw, s.oneOf[at])
		}
		r.problem(schema.MissingField, "", "have one of `"+strings.Join(s.oneOf, "`, `")+"`", hint)
	}
}

// text checks a text against what the rules say of its field.
func (r *reader) text(s *shape, v string) (sound bool) {
	switch {
	case v == "" && !s.listed:
	case s.words != nil && !slices.Contains(s.words, v):
		r.choice(v, s.words)
		return false
	case s.spelling != nil && !s.spelling.legal(v):
		hint := ""
		if s.spelling.mend != nil {
			hint = s.spelling.mend(v)
		}
		r.problem(s.spelling.code, r.quoted(v), s.spelling.want, hint)
		return false
	}
	return true
}
