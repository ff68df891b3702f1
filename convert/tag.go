package convert

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
)

// TagName is the struct tag that constrains a field beyond its Go type, in the words of the markers of CRDs:
//
//	Target string `json:"target" stoic:"required,minLength=1,maxLength=63,pattern=^[a-z]+$"`
//	Type   string `json:"type,omitempty" stoic:"enum=Copy;Link"`
//	Ratio  *int32 `json:"ratio,omitempty" stoic:"min=0,max=100"`
//	Paths  []Path `json:"paths" stoic:"required,minItems=1"`
//
//	required             the field must be set, and not be null; for one that must not be empty either, use the rule Need
//	min=N, max=N         of numbers: the least and the greatest value
//	minLength=N, maxLength=N
//	                     of texts, in characters
//	minItems=N, maxItems=N
//	                     of lists and maps
//	enum=A;B             of texts and integers: the allowed values. An empty text is allowed only if it is in the list
//	name=KIND            of texts: a name in the form of one kind: dnsLabel, as for namespaces, or
//	                     dnsSubdomain, as for most objects
//	pattern=EXPRESSION   of texts, also in IntOrString: a regular expression of Go that matches some part; it must be the
//	                     last option, because it may contain commas
//
// Constraints of numbers and texts apply to each item of a list. They cannot be put on values of a map, or on lists in lists; the
// rule Words is for texts of a type, wherever they are. Tags are separate from markers in comments: if a CRD is generated from
// markers, write both.
const TagName = "stoic"

// tagged is a field with a tag.
type tagged struct {
	field  string // as Go names it, for messages
	goType reflect.Type
	in     *Shape
	name   string
	tag    string
}

// apply adds the tag to the shape of the field. It panics if the tag makes no sense there, which is a defect of the program.
func (t tagged) apply() {
	said := map[string]bool{}
	for rest := t.tag; rest != ""; {
		word := rest
		if strings.HasPrefix(rest, "pattern=") {
			rest = ""
		} else {
			word, rest, _ = strings.Cut(rest, ",")
		}
		name, value, hasValue := strings.Cut(word, "=")
		if said[name] {
			t.fail(strconv.Quote(name) + " is in it twice")
		}
		said[name] = true
		t.applyWord(name, value, hasValue)
	}
	if said["name"] && said["pattern"] {
		t.fail("a field has a name or a pattern, not both")
	}
	t.satisfiable()
}

func (t tagged) applyWord(name, value string, hasValue bool) {
	switch name {
	case "required":
		if hasValue {
			t.fail("required has no value")
		}
		t.in.required = append(t.in.required, t.name)
	case "min", "max":
		t.bound(name, value)
	case "minLength":
		t.leaf(name, text).limited().minLength = t.natural(value)
	case "maxLength":
		t.leaf(name, text).limited().maxLength = t.natural(value)
	case "minItems":
		t.many(name).limited().minItems = t.natural(value)
	case "maxItems":
		n := t.natural(value)
		l := t.many(name).limited()
		if n > l.maxItems {
			t.fail("a " + t.goType.String() + " has no place for so many")
		}
		l.maxItems = n
	case "enum":
		t.enum(strings.Split(value, ";"))
	case "name":
		t.spelt(value)
	case "pattern":
		t.pattern(value)
	default:
		t.fail(strconv.Quote(name) + " is not known")
	}
}

// satisfiable panics if the tag, together with rules and type, allows no value, or if it excludes a value of its own enum.
func (t tagged) satisfiable() {
	s := t.in.fields[t.name].shape
	if l := s.limits; l != nil && l.minItems > l.maxItems {
		t.fail(fmt.Sprintf("minItems is %d, and at most %d are allowed", l.minItems, l.maxItems))
	}
	if s.form == list {
		s = s.elem
	}
	l := s.limits
	if l == nil {
		l = unlimited()
	}
	switch {
	case l.least > l.most:
		t.fail(fmt.Sprintf("no number is from %v to %v", l.least, l.most))
	case l.minLength > l.maxLength:
		t.fail(fmt.Sprintf("minLength is %d, and maxLength %d", l.minLength, l.maxLength))
	}
	for _, n := range l.numbers {
		if n < s.min || n > s.max {
			t.fail(fmt.Sprintf("%d is in the enum, and the field is from %d to %d", n, s.min, s.max))
		}
	}
	for _, word := range s.words {
		if r := (&Reader{problems: findings{silent: true}}); !r.text(s, word) {
			t.fail(strconv.Quote(word) + " is in the enum, and the rest of what is asked of the field refuses it")
		}
	}
}

func (t tagged) fail(why string) {
	panic("convert: the tag " + TagName + ":" + strconv.Quote(t.tag) + " of " + t.field + ": " + why)
}

func (t tagged) natural(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		t.fail(strconv.Quote(value) + " is not a number of things")
	}
	return n
}

// leaf returns the shape of the field, or of the items of its list. It panics if that has none of these forms.
func (t tagged) leaf(word string, forms ...form) *Shape {
	own := t.in.own(t.name)
	if !slices.Contains(forms, own.form) {
		t.fail(word + " is for " + typesOf(forms) + ", and for lists of them, and the field is a " + t.goType.String())
	}
	return own
}

// many returns the shape of the field. It panics if that is no list or map.
func (t tagged) many(word string) *Shape {
	f := t.in.fields[t.name]
	own := *f.shape
	if own.form != list && own.form != dict {
		t.fail(word + " is for " + typesOf([]form{list, dict}) + ", and the field is a " + t.goType.String())
	}
	f.shape = &own
	return &own
}

func (t tagged) bound(word, value string) {
	least, own := word == "min", t.leaf(word, integer, intOrString, float)
	if own.form == float {
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			t.fail(strconv.Quote(value) + " is not a number")
		}
		if l := own.limited(); least {
			l.least = f
		} else {
			l.most = f
		}
		return
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < own.min || n > own.max {
		t.fail(fmt.Sprintf("%q is not an integer from %d to %d, as the field holds", value, own.min, own.max))
	}
	if least {
		own.min = n
	} else {
		own.max = n
	}
}

func (t tagged) enum(few []string) {
	own := t.leaf("enum", text, integer)
	own.listed = true
	if own.form == text {
		own.words = few
		return
	}
	l := own.limited()
	for _, word := range few {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			t.fail(strconv.Quote(word) + " is not an integer")
		}
		l.numbers = append(l.numbers, n)
	}
}

// spelt sets the form of a name. An empty text means unset, unless minLength forbids it.
func (t tagged) spelt(kind string) {
	own := t.leaf("name", text)
	switch kind {
	case "dnsLabel":
		own.spelling = &labelForm
	case "dnsSubdomain":
		own.spelling = &subdomainForm
	default:
		t.fail(strconv.Quote(kind) + " is no kind of names")
	}
}

func (t tagged) pattern(expression string) {
	compiled, err := regexp.Compile(expression)
	if err != nil {
		t.fail(err.Error())
	}
	own := t.leaf("pattern", text, intOrString)
	own.listed = true
	own.spelling = &spelling{code: schema.InvalidValue, want: "match `" + schema.Clean(expression, 120) + "`", legal: compiled.MatchString}
}
