package convert

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"stoic/schema"
)

// Rule is a constraint of a Go type beyond its form: of the API server, for the types of Kubernetes, or of an operator. It becomes
// part of the type's shape when that is built, so that a walk looks nothing up.
type Rule struct {
	on  reflect.Type
	put func(*Shape)
}

// Need returns a rule: the fields must be set, and be neither null nor empty.
func Need[T any](fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) { s.needs = append(s.needs, s.having(t, fields)...) })
}

// require returns a rule: the fields must be set and not be null, but may be empty.
func require[T any](fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) { s.required = append(s.required, s.having(t, fields)...) })
}

// Span returns a rule: the fields are integers from least to most. It narrows what the Go type, Kubernetes or another Span allows.
func Span[T any](least, most int64, fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		for _, field := range s.having(t, fields) {
			own := s.leaf(t, "Span", field, integer, intOrString)
			if own.min, own.max = max(own.min, least), min(own.max, most); own.min > own.max {
				panic(fmt.Sprintf("convert: Span from %d to %d of the field %s of %s, which no value keeps", least, most, field, t))
			}
		}
	})
}

// mode returns a rule: the fields are file permissions.
func mode[T any](fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		for _, field := range s.having(t, fields) {
			own := s.leaf(t, "mode", field, integer)
			own.min, own.max, own.octal = 0, 0o777, true
		}
	})
}

// Words returns a rule: a text of this type is one of a few words, or empty, which means unset.
func Words[T ~string](few ...T) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		if len(few) == 0 {
			panic("convert: Words of " + t.String() + " are none")
		}
		for _, word := range few {
			s.words = append(s.words, string(word))
		}
	})
}

// spelt returns a rule: the fields are texts of a form, or empty.
func spelt[T any](as spelling, fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		for _, field := range s.having(t, fields) {
			s.leaf(t, "spelt", field, text, intOrString).spelling = &as
		}
	})
}

// Choice returns a rule: the field is one of a few words, or empty.
func Choice[T any](field string, few ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		own := s.leaf(t, "Choice", field, text)
		if own.words = few; len(few) == 0 {
			panic("convert: Choice of the field " + field + " of " + t.String() + " has no words")
		}
	})
}

// ExactlyOne returns a rule: exactly one of the fields is set.
func ExactlyOne[T any](fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) { s.oneOf = append(s.oneOf, s.having(t, fields)) })
}

// Hide returns a rule: no message repeats a value below the fields, because it may be a credential. Conditions and events reach
// logs and users that the object itself does not reach.
func Hide[T any](fields ...string) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		for _, name := range s.having(t, fields) {
			s.fields[name].hidden = true
		}
	})
}

// And returns a rule that checks constraints between fields.
func And[T any](check func(*Reader, map[string]any)) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		if s.form != object || check == nil {
			panic("convert: And of " + t.String() + " wants a struct, and a function that is not nil")
		}
		s.checks = append(s.checks, check)
	})
}

// On returns a rule that changes the shape of a type by hand.
func On[T any](put func(*Shape)) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		if put == nil {
			panic("convert: On of " + t.String() + " is nil")
		}
		put(s)
	})
}

// ruleOn returns a rule on a type. Panics of put name the type.
func ruleOn[T any](put func(reflect.Type, *Shape)) Rule {
	t := reflect.TypeFor[T]()
	return Rule{t, func(s *Shape) { put(t, s) }}
}

// Advice is what is known of a field that its object does not define.
type Advice struct {
	Silent bool   // a problem says it already
	In     string // the field of the same object that it belongs in
	Hint   string // what to say if no field has a name like it
}

// Advise returns a rule that gives advice on fields that an object does not define.
func Advise[T any](advise func(within map[string]any, key string) Advice) Rule {
	return ruleOn[T](func(t reflect.Type, s *Shape) {
		if s.form != object || advise == nil {
			panic("convert: Advise of " + t.String() + " wants a struct, and a function that is not nil")
		}
		s.Advise(advise)
	})
}

// Advise does the same for a shape that is made by hand.
func (s *Shape) Advise(advise func(within map[string]any, key string) Advice) { s.advise = advise }

// having returns names. It panics unless type t, whose shape this is, has these fields.
func (s *Shape) having(t reflect.Type, names []string) []string {
	if len(names) == 0 {
		panic("convert: a rule about no field of " + t.String())
	}
	for _, name := range names {
		if s.fields[name] == nil {
			panic("convert: a rule about a field " + name + " of " + t.String() + ", which is not among " + strings.Join(s.names, ", "))
		}
	}
	return names
}

// leaf returns the own shape of a field of type t, or of the items of its list. It panics if that shape has none of these forms,
// because the rule would have no effect.
func (s *Shape) leaf(t reflect.Type, rule, name string, forms ...form) *Shape {
	s.having(t, []string{name})
	own := s.own(name)
	if slices.Contains(forms, own.form) {
		return own
	}
	is := "has another type"
	if index := s.fields[name].index; index != nil {
		is = "is a " + t.FieldByIndex(index).Type.String()
	}
	panic("convert: " + rule + " of the field " + name + " of " + t.String() + ": it is for " + typesOf(forms) + ", and for lists of them, and the field " + is)
}

// typesOf returns the Go types that have one of these forms.
func typesOf(forms []form) string {
	names := map[form]string{text: "strings", integer: "integers", float: "floats", intOrString: "intstr.IntOrString", list: "lists", dict: "maps"}
	all := make([]string, len(forms))
	for i, f := range forms {
		all[i] = names[f]
	}
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return all[0]
}

// own returns the shape of a field, or of the items of its list. From then on the field shares it with no other field.
func (s *Shape) own(name string) *Shape {
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

// absent reports whether a value is null or empty.
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

// misses counts required fields that are absent or null: each is decoded as the zero value, which is not what is stored. A null
// does not count if encoding/json writes the zero value as null, as for a time: a write would store null again.
func (r *Reader) misses(s *Shape, raw map[string]any) {
	for _, key := range s.required {
		if value, there := raw[key]; !there || value == nil && s.fields[key].notNull {
			r.problems.count++
		}
	}
}

// lacks reports whether a field is absent or empty. An empty value of another type is reported as a mismatch instead.
func (s *Shape) lacks(raw map[string]any, key string) bool {
	value := raw[key]
	_, many := value.([]any)
	return absent(value) && (value == nil || many == (s.fields[key].shape.form == list))
}

// whole checks the rules that concern an object as a whole.
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
	for _, few := range s.oneOf {
		r.onlyOne(s, few, raw)
	}
	for _, check := range s.checks {
		check(r, raw)
	}
}

// misnamed suggests which existing field was meant to be the missing one: a misspelt one, or one from another kind of object.
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

// onlyOne checks that exactly one of several fields is set. An unknown field may be an alternative that is newer than this library.
func (r *Reader) onlyOne(s *Shape, few []string, raw map[string]any) {
	first := ""
	for _, key := range few {
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
			at := slices.IndexFunc(few, func(known string) bool { return strings.EqualFold(key, known) })
			if at < 0 {
				return
			}
			if misspelt == "" || key < misspelt { // the order of keys differs each time
				hint, misspelt = Misspelt(raw, few[at]), key
			}
		}
		r.Problem(schema.MissingField, "", "have one of `"+strings.Join(few, "`, `")+"`", hint)
	}
}

// text checks a text against the rules of its field.
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
