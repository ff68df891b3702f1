package convert

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"stoic/schema"
)

// scalar walks a value that is neither object nor list.
func (r *Reader) scalar(s *Shape, raw any, target reflect.Value) {
	switch s.form {
	case text:
		if v, ok := raw.(string); ok {
			if (s.words == nil && s.spelling == nil && s.limits == nil || r.text(s, v)) && target.IsValid() {
				target.SetString(v)
			}
			return
		}
	case boolean:
		if v, ok := raw.(bool); ok {
			if target.IsValid() {
				target.SetBool(v)
			}
			return
		}
	case integer, float:
		if n, ok := numberOf(raw); ok {
			r.number(s, n, target)
			return
		}
	case quantity:
		if written, ok := Written(raw); ok {
			r.quantity(written, target)
			return
		}
	case intOrString:
		if r.intOrString(s, raw, target) {
			return
		}
	default:
		if v, ok := raw.(string); ok {
			r.encoded(s, v, target)
			return
		}
	}
	r.mismatch(s.form, raw)
}

func (r *Reader) number(s *Shape, n number, target reflect.Value) {
	if s.form == float {
		switch {
		case !n.finite():
			r.Problem(schema.InvalidValue, r.found(n), "be a finite number", "")
		case s.limits != nil && !r.inBounds(s.limits, n):
		case target.IsValid() && target.OverflowFloat(n.f):
			r.Problem(schema.OutOfRange, r.found(n), "be a number of 32 bits", "")
		case target.IsValid():
			target.SetFloat(n.f)
		}
		return
	}
	v, ok := r.integer(s, n)
	switch {
	case !ok || !target.IsValid():
	case target.CanInt():
		target.SetInt(v)
	default:
		target.SetUint(uint64(v))
	}
}

// integer checks that n is an integer, in the range of the shape.
func (r *Reader) integer(s *Shape, n number) (int64, bool) {
	v, ok := n.integer()
	switch {
	case !n.integral():
		r.Problem(schema.TypeMismatch, r.found(n), r.wanted(s.form), "")
	case !ok || v < s.min || v > s.max:
		r.Problem(schema.OutOfRange, r.found(n), s.wantRange(n), s.rangeHint(v))
	case s.limits != nil && !r.oneOfNumbers(s.limits.numbers, n):
	default:
		return v, true
	}
	return 0, false
}

// wantRange names both ends of a small range, otherwise the end that n is beyond.
func (s *Shape) wantRange(n number) string {
	switch {
	case s.octal:
		return fmt.Sprintf("be from 0 to 0%o in octal", s.max)
	case s.max < math.MaxInt32 && s.min > math.MinInt32:
		return fmt.Sprintf("be from %d to %d", s.min, s.max)
	case n.f < float64(s.min):
		return "be greater than or equal to " + strconv.FormatInt(s.min, 10)
	}
	return "be less than or equal to " + strconv.FormatInt(s.max, 10)
}

// rangeHint: 644 was meant as octal. YAML reads it so with a leading 0, and JSON has no octal numbers.
func (s *Shape) rangeHint(v int64) string {
	meant, err := strconv.ParseInt(strconv.FormatInt(v, 10), 8, 64)
	if !s.octal || err != nil || meant < 0 || meant > s.max {
		return ""
	}
	return fmt.Sprintf("did you mean 0%o? JSON has it as %d", meant, meant)
}

// Written returns a string, or a number as text, for fields that take both. The text may differ slightly from what the user wrote.
func Written(raw any) (string, bool) {
	if v, ok := raw.(string); ok {
		return v, true
	}
	n, ok := numberOf(raw)
	return n.String(), ok && n.finite()
}

func (r *Reader) quantity(written string, target reflect.Value) {
	if !target.IsValid() && plainQuantity(written) {
		return
	}
	value, ok := schema.ParseQuantity(written)
	switch {
	case !ok && r.Full():
	case !ok:
		hint := ""
		if !r.at.hidden() {
			hint = quantityHint(written)
		}
		r.Problem(schema.InvalidValue, r.quoted(written), r.wanted(quantity), hint)
	case target.IsValid():
		target.Set(reflect.ValueOf(value))
	}
}

// plainQuantity recognizes the common form of a quantity that is not negative: up to nine digits and a suffix. The parser takes ten
// times as long.
func plainQuantity(written string) bool {
	digits := 0
	for digits < len(written) && written[digits] >= '0' && written[digits] <= '9' {
		digits++
	}
	if digits == 0 || digits > 9 {
		return false
	}
	switch written[digits:] {
	case "", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti":
		return true
	}
	return false
}

// quantityHint corrects common mistakes: a B for bytes, a space, the wrong case, a placeholder.
func quantityHint(written string) string {
	if isPlaceholder(written) {
		return placeholderHint
	}
	written = schema.Clean(strings.TrimSpace(written), 64)
	digits := len(written) - len(strings.TrimLeft(written, "0123456789."))
	suffix := strings.ToLower(strings.TrimSpace(written[digits:]))
	suffix = strings.TrimSuffix(strings.TrimSuffix(suffix, "ytes"), "b")
	switch suffix {
	case "", "k":
	case "m", "g", "t", "p", "e":
		suffix = strings.ToUpper(suffix)
	case "ki", "mi", "gi", "ti", "pi", "ei":
		suffix = strings.ToUpper(suffix[:1]) + "i"
	default:
		return ""
	}
	if corrected := written[:digits] + suffix; corrected != written {
		if _, ok := schema.ParseQuantity(corrected); ok {
			return "did you mean " + schema.Quote(corrected) + "?"
		}
	}
	return ""
}

// intOrString reports whether raw is an integer or a string. A number out of range is one, and adds a problem.
func (r *Reader) intOrString(s *Shape, raw any, target reflect.Value) bool {
	var value intstr.IntOrString
	if v, ok := raw.(string); ok {
		if s.spelling != nil && !r.text(s, v) {
			return true
		}
		value = intstr.FromString(v)
	} else {
		n, ok := numberOf(raw)
		if !ok {
			return false
		}
		v, ok := r.integer(s, n)
		if !ok {
			return true
		}
		value = intstr.FromInt32(int32(v))
	}
	if target.IsValid() {
		target.Set(reflect.ValueOf(value))
	}
	return true
}

// encoded walks a value that JSON can only write as a string.
func (r *Reader) encoded(s *Shape, raw string, target reflect.Value) {
	var value any
	var err error
	want := ""
	switch s.form {
	case binary:
		want = "be base64"
		value, err = base64.StdEncoding.DecodeString(raw)
	case moment:
		want = `be a time such as "2006-01-02T15:04:05Z"`
		var t time.Time
		t, err = time.Parse(time.RFC3339, raw)
		value = metav1.Time{Time: t.UTC()}
		if target.IsValid() && target.Type() == reflect.TypeFor[metav1.MicroTime]() {
			value = metav1.MicroTime{Time: t.UTC()}
		}
	case duration:
		want = `be a duration such as "1h30m"`
		var d time.Duration
		d, err = time.ParseDuration(raw)
		value = metav1.Duration{Duration: d}
	}
	switch {
	case err != nil && r.Full():
	case err != nil:
		r.Problem(schema.InvalidValue, r.found(raw), want, "")
	case target.IsValid() && s.form == binary:
		target.SetBytes(value.([]byte)) // of any type of bytes
	case target.IsValid():
		target.Set(reflect.ValueOf(value))
	}
}

// store decodes into a type that has a decoder of its own, by way of JSON, so that nothing of raw is kept.
func (r *Reader) store(raw any, target reflect.Value) {
	if !target.IsValid() {
		return
	}
	text := new(Encoder).Encode(raw)
	if err := kjson.Unmarshal(text, target.Addr().Interface()); err != nil && !r.Full() {
		r.Problem(schema.InvalidValue, r.found(raw), "be well-formed", r.said(err, text))
	}
}

// said returns the message of a decoder, which may repeat the text; "" if the text may hold a credential.
func (r *Reader) said(err error, text []byte) string {
	if r.at.hidden() || namesCredential(strings.ToUpper(string(text))) {
		return ""
	}
	return schema.Clean(strings.TrimSpace(err.Error()), 150)
}
