package convert

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"stoic/schema"
)

// text checks the length, pattern and format of a string.
func (in *inspection) text(n *schemaNode, v string) {
	length := int64(utf8.RuneCountInString(v))
	switch {
	case n.lengths.most != nil && length > *n.lengths.most:
		in.Problem(schema.OutOfRange, "a string of "+plural(length, "character"), "be at most "+plural(*n.lengths.most, "character")+" long", "")
		return
	case n.lengths.least != nil && length < *n.lengths.least:
		found := "a string of " + plural(length, "character")
		if length == 0 {
			found = "an empty string"
		}
		in.Problem(schema.OutOfRange, found, "be at least "+plural(*n.lengths.least, "character")+" long", "")
		return
	case n.pattern != nil && !n.pattern.MatchString(v):
		in.Problem(schema.InvalidValue, in.quotedAs(n, v), "match the pattern "+schema.Clean(n.pattern.String(), 200), "")
	}
	if n.format != "" && !formatted(n.format, v) {
		in.Problem(schema.InvalidValue, in.shown(n, v), wantFormat(n.format), "")
	}
}

// wantFormat returns the requirement of a format.
func wantFormat(format string) string {
	switch strings.ReplaceAll(format, "-", "") {
	case "datetime", momentFormat:
		return `be a time such as "2006-01-02T15:04:05Z"`
	case "date":
		return `be a date such as "2006-01-02"`
	case "duration":
		return `be a duration such as "1h30m"`
	case "byte":
		return "be base64"
	case "ipv4":
		return "be an IPv4 address"
	case "ipv6":
		return "be an IPv6 address"
	case "cidr":
		return `be a range of addresses such as "10.0.0.0/8"`
	case "mac":
		return "be a MAC address"
	case "uri":
		return `be a URI such as "https://example.com/"`
	case "email":
		return "be an email address"
	case "hostname":
		return "be the name of a host"
	case "uuid", "uuid3", "uuid4", "uuid5":
		return "be a UUID"
	case "k8sshortname":
		return wantLabel
	case "k8slongname":
		return wantSubdomain
	}
	return "have the format " + schema.Clean(format, MaxKey)
}

// number checks a number against the bounds of the schema.
func (in *inspection) number(n *schemaNode, v number) {
	if n.format == "float" && math.IsInf(float64(float32(v.f)), 0) {
		in.Problem(schema.OutOfRange, in.found(v), "be a number of 32 bits", "")
	}
	low, high := n.least.above(v), n.most.below(v)
	switch {
	case low || high:
		in.Problem(schema.OutOfRange, in.found(v), n.wantBounds(low), "")
	case n.least.cutTo(v):
		in.Problem(schema.OutOfRange, in.found(v), "be greater than "+v.String(), cutHint(*n.least.at, "compare"))
	case n.most.cutTo(v):
		in.Problem(schema.OutOfRange, in.found(v), "be less than "+v.String(), cutHint(*n.most.at, "compare"))
	}
	if n.multipleOf == nil {
		return
	}
	if of := *n.multipleOf; !multiple(v, of) {
		in.Problem(schema.InvalidValue, in.found(v), "be a multiple of "+fractional(of).String(), "")
	} else if cut := math.Trunc(of); v.whole && cut > 0 && !multiple(v, cut) {
		in.Problem(schema.InvalidValue, in.found(v), "be a multiple of "+fractional(cut).String(), cutHint(of, "divide"))
	}
}

// cutTo reports whether an integer equals an exclusive bound without its fraction: an API server cuts the bound and excludes it.
func (b bound) cutTo(v number) bool {
	return b.at != nil && b.exclusive && v.whole && comparedTo(v, math.Trunc(*b.at)) == 0
}

// cutHint explains a requirement of an integer that differs from what the schema says.
func cutHint(at float64, verb string) string {
	return "an API server cuts the fraction off " + fractional(at).String() + " to " + verb + " an integer"
}

// above reports whether the bound is above a number, which is a problem.
func (b bound) above(v number) bool {
	return b.at != nil && (comparedTo(v, *b.at) < 0 || b.exclusive && comparedTo(v, *b.at) == 0)
}

// below reports whether the bound is below a number.
func (b bound) below(v number) bool {
	return b.at != nil && (comparedTo(v, *b.at) > 0 || b.exclusive && comparedTo(v, *b.at) == 0)
}

// comparedTo compares a number with a bound, exactly if both are integers.
func comparedTo(v number, with float64) int {
	if limit, ok := fractional(with).integer(); ok && v.whole {
		switch {
		case v.i < limit:
			return -1
		case v.i > limit:
			return 1
		}
		return 0
	}
	switch {
	case v.f < with:
		return -1
	case v.f > with:
		return 1
	}
	return 0
}

// wantBounds names both ends of a range of numbers, or the only end.
func (n *schemaNode) wantBounds(low bool) string {
	if n.least.at != nil && n.most.at != nil && !n.least.exclusive && !n.most.exclusive {
		return "be from " + fractional(*n.least.at).String() + " to " + fractional(*n.most.at).String()
	}
	b, words := n.most, [2]string{"less than or equal to ", "less than "}
	if low {
		b, words = n.least, [2]string{"greater than or equal to ", "greater than "}
	}
	word := words[0]
	if b.exclusive {
		word = words[1]
	}
	return "be " + word + fractional(*b.at).String()
}

// multiple reports whether a number is a multiple of another, within the precision of floating point.
func multiple(v number, of float64) bool {
	if of <= 0 {
		return false
	}
	if factor, ok := fractional(of).integer(); ok && v.whole {
		return v.i%factor == 0
	}
	times := v.f / of
	if of < 1 {
		times = 1 / of * v.f
	}
	if math.IsNaN(times) || math.Abs(times) > exactLimit {
		return false
	}
	rounded := math.Round(times)
	const tolerance = 1e-9
	return times == rounded || rounded != 0 && math.Abs(times-rounded) < tolerance*math.Abs(rounded)
}

func isCompound(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// alike reports whether two JSON values are equal. Numbers are compared by value.
func alike(a, b any) bool {
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	}
	if x, ok := numberOf(a); ok {
		y, ok := numberOf(b)
		return ok && (x.whole && y.whole && x.i == y.i || x.whole != y.whole && x.f == y.f || !x.whole && !y.whole && x.f == y.f)
	}
	return isCompound(a) && isCompound(b) && bytes.Equal(canonical(a), canonical(b))
}

// formatted reports whether a string has a format.
func formatted(format, v string) bool {
	if format == momentFormat {
		return isMoment(v)
	}
	return strfmt.Default.Validates(format, v)
}
