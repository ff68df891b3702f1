package convert

import (
	"fmt"
	"slices"
	"strings"

	"stoic/schema"
)

// inspect reports the problems of a prepared value at the current path. For a value of the wrong type it reports only that.
func (in *inspection) inspect(n *schemaNode, value any) {
	if !in.spend() {
		return
	}
	if value == nil {
		in.null(n)
		return
	}
	if !in.typed(n, value) {
		return
	}
	in.enumerated(n, value)
	switch v := value.(type) {
	case map[string]any:
		in.object(n, v)
	case []any:
		in.list(n, v)
	case string:
		in.text(n, v)
	default:
		if number, ok := numberOf(value); ok {
			in.number(n, number)
		}
	}
	in.clauses(n, value)
}

// null reports a null that the schema does not allow, and any null where there is an enum: no API server finds null in an enum.
func (in *inspection) null(n *schemaNode) {
	if (n.kind != "" || n.intOrString) && !n.nullable {
		in.mismatch(n.form(), nil)
	} else if len(n.enum) > 0 {
		in.Problem(schema.InvalidValue, "null", n.wantEnum(), "")
	}
}

// typed reports whether the value has the type of the schema, and adds a problem if not.
func (in *inspection) typed(n *schemaNode, value any) bool {
	var fits bool
	switch n.kind {
	case "object":
		_, fits = value.(map[string]any)
	case "array":
		_, fits = value.([]any)
	case "string":
		_, fits = value.(string)
	case "boolean":
		_, fits = value.(bool)
	case "number":
		v, ok := numberOf(value)
		if ok && !v.finite() {
			in.Problem(schema.InvalidValue, in.found(value), "be a finite number", "")
			return false
		}
		fits = ok
	case "integer":
		if v, ok := numberOf(value); ok {
			return in.integral(n.whole, v)
		}
		fits = false
	default:
		if n.intOrString {
			return in.intOrString(n, value)
		}
		return n.format == "" || in.formattable(n, value)
	}
	if !fits {
		in.mismatchAs(n, value)
	}
	return fits
}

// intOrString reports whether the value is an integer or a string, and adds a problem if not.
func (in *inspection) intOrString(n *schemaNode, value any) bool {
	if _, ok := value.(string); ok {
		return true
	}
	v, ok := numberOf(value)
	if !ok {
		in.mismatch(intOrString, value)
		return false
	}
	if quoted := plain(value); !v.integral() && n.pattern != nil && n.pattern.MatchString(quoted) { // a quantity such as 0.5
		in.Problem(schema.TypeMismatch, in.found(v), "be a string", "quote it: "+schema.Quote(quoted))
		return false
	}
	return in.integral(&Shape{form: intOrString, min: -1 << 63, max: 1<<63 - 1}, v)
}

// formattable reports whether a value without a declared type may have the format of the schema: a string may, and API servers do
// not check lists.
func (in *inspection) formattable(n *schemaNode, value any) bool {
	switch value.(type) {
	case string, []any:
		return true
	}
	in.Problem(schema.TypeMismatch, in.shown(n, value), wantFormat(n.format), "")
	return false
}

// exactLimit is the largest number with a fraction or an exponent that an API server accepts as an integer.
const exactLimit = 1<<53 - 1

// integral reports whether a number is an integer within the range of a shape.
func (in *inspection) integral(s *Shape, v number) bool {
	if !v.whole && v.integral() && (v.f > exactLimit || v.f < -exactLimit) {
		if _, ok := v.integer(); ok {
			in.Problem(schema.TypeMismatch, in.found(v), in.wanted(s.form), "write it with all its digits, without a fraction or an exponent")
			return false
		}
	}
	_, ok := in.Reader.integer(s, v)
	return ok
}

// object inspects the fields of an object, and their number.
func (in *inspection) object(n *schemaNode, value map[string]any) {
	if n.embedded {
		in.embedded(n, value)
	}
	in.amount(n.counts, len(value), "field")
	for _, key := range n.required {
		if _, there := value[key]; !there {
			in.Enter(key)
			if !in.Full() {
				in.Problem(schema.MissingField, "", "be set", in.renamed[in.at.String()])
			}
			in.Leave()
		}
	}
	for key, member := range value {
		f := n.properties[key]
		if f == nil {
			f = n.additional
		}
		if f != nil {
			in.enterMember(value, key)
			in.inspect(f, member)
			in.Leave()
		}
	}
}

// amount checks a number of characters, items or fields.
func (in *inspection) amount(s span64, n int, noun string) {
	has := func() string { return plural(int64(n), noun) }
	switch {
	case s.least != nil && int64(n) < *s.least:
		in.Problem(schema.OutOfRange, has(), "have at least "+plural(*s.least, noun), "")
	case s.most != nil && int64(n) > *s.most:
		in.Problem(schema.OutOfRange, has(), "have at most "+plural(*s.most, noun), "")
	}
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// wordsLimit is how many bytes of a list of words a message repeats.
const wordsLimit = 300

// wantEnum returns the requirement to be one of the values of an enum.
func (n *schemaNode) wantEnum() string {
	var words []string
	size := 0
	for i, value := range n.enum {
		word := jsonWord(value)
		if size += len(word) + 2; size > wordsLimit {
			words = append(words, fmt.Sprintf("... (%d in all)", len(n.enum)))
			break
		}
		words = append(words, word)
		if i == len(n.enum)-1 && i == 0 {
			return "be " + word
		}
	}
	return "be one of " + strings.Join(words, ", ")
}

// jsonWord returns a value of a schema as messages repeat it.
func jsonWord(value any) string {
	if v, ok := value.(string); ok {
		return schema.Quote(v)
	}
	return schema.Clean(string(schema.JSON(value)), MaxKey)
}

// enumerated checks that the value is one of an enum.
func (in *inspection) enumerated(n *schemaNode, value any) {
	if len(n.enum) == 0 || slices.ContainsFunc(n.enum, func(one any) bool { return alike(one, value) }) || in.Full() {
		return
	}
	words := make([]string, 0, len(n.enum))
	for _, one := range n.enum {
		if word, ok := one.(string); ok {
			words = append(words, word)
		}
	}
	found, hint := in.shown(n, value), ""
	if v, ok := value.(string); ok {
		found = in.quotedAs(n, v)
		if meant, near := schema.Nearest(v, words); near && n.format != "password" && !in.conceals(v) {
			hint = `did you mean "` + schema.Clean(meant, MaxKey) + `"?`
		}
	}
	in.Problem(schema.InvalidValue, found, n.wantEnum(), hint)
}
