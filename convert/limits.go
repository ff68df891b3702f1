package convert

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"stoic/schema"
)

// limits are bounds of a value beyond those of its type.
type limits struct {
	minLength, maxLength int     // of texts, in characters
	minItems, maxItems   int     // of lists and maps
	least, most          float64 // of numbers that need not be integers
	numbers              []int64 // of integers: the allowed ones; nil allows all
}

func unlimited() *limits {
	return &limits{maxLength: math.MaxInt, maxItems: math.MaxInt, least: math.Inf(-1), most: math.Inf(1)}
}

// limited gives a shape limits of its own and returns them. No other field may share the shape.
func (s *Shape) limited() *limits {
	own := unlimited()
	if s.limits != nil {
		*own = *s.limits
	}
	s.limits = own
	return own
}

// length checks the number of characters of a text.
func (r *Reader) length(l *limits, v string) bool {
	if len(v) >= l.minLength*utf8.UTFMax && len(v) <= l.maxLength {
		return true
	}
	n := utf8.RuneCountInString(v)
	switch {
	case n >= l.minLength && n <= l.maxLength:
		return true
	case r.Full():
	case n < l.minLength:
		r.Problem(schema.InvalidValue, r.quoted(v), "have at least "+countOf(l.minLength, "character"), "")
	default:
		r.Problem(schema.InvalidValue, "a string of "+countOf(n, "character"), "have at most "+countOf(l.maxLength, "character"), "")
	}
	return false
}

// size checks the number of items of a list, or of entries of a map.
func (r *Reader) size(l *limits, raw any, n int) {
	if n >= l.minItems && n <= l.maxItems {
		return
	}
	noun, found, empty := "item", "a list", "an empty list"
	if _, isMap := raw.(map[string]any); isMap {
		noun, found, empty = "entry", "an object", "an empty object"
	}
	if found += " of " + countOf(n, noun); n == 0 {
		found = empty
	}
	want := "have at least " + countOf(l.minItems, noun)
	if n > l.maxItems {
		want = "have at most " + countOf(l.maxItems, noun)
	}
	r.Problem(schema.InvalidValue, found, want, "")
}

// inBounds checks a number that need not be an integer.
func (r *Reader) inBounds(l *limits, n number) bool {
	switch {
	case n.f >= l.least && n.f <= l.most:
		return true
	case r.Full():
	case n.f < l.least:
		r.Problem(schema.OutOfRange, r.found(n), "be greater than or equal to "+fractional(l.least).String(), "")
	default:
		r.Problem(schema.OutOfRange, r.found(n), "be less than or equal to "+fractional(l.most).String(), "")
	}
	return false
}

// oneOfNumbers checks that an integer is one of a few; nil allows all.
func (r *Reader) oneOfNumbers(few []int64, n number) bool {
	v, _ := n.integer()
	if few == nil || slices.Contains(few, v) {
		return true
	}
	if r.Full() {
		return false
	}
	words := make([]string, len(few))
	for i := range few {
		words[i] = strconv.FormatInt(few[i], 10)
	}
	r.Problem(schema.InvalidValue, r.found(n), "be one of "+strings.Join(words, ", "), "")
	return false
}

// countOf returns a count with its noun: 1 character, 2 entries.
func countOf(n int, noun string) string {
	if n != 1 {
		if stem, y := strings.CutSuffix(noun, "y"); y {
			noun = stem + "ie"
		}
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
