package convert

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"stoic/schema"
)

const wantQuantity = `be a quantity such as "64Gi" or "64G"`

// scalar walks a value that is neither object nor list.
func (r *reader) scalar(s *shape, raw any, target reflect.Value) {
	switch s.form {
	case text:
		if v, ok := raw.(string); ok {
			if target.IsValid() {
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
		if written, ok := written(raw); ok {
			r.quantity(written, target)
			return
		}
	case intOrString:
		if r.intOrString(raw, target) {
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

func (r *reader) number(s *shape, n number, target reflect.Value) {
	if s.form == float {
		switch {
		case !n.finite():
			r.problem(schema.InvalidValue, found(n), "be a finite number", "")
		case target.IsValid():
			target.SetFloat(n.f)
		}
		return
	}
	v, ok := r.integer(n, s.min, s.max)
	switch {
	case !ok || !target.IsValid():
	case target.CanInt():
		target.SetInt(v)
	default:
		target.SetUint(uint64(v))
	}
}

// integer checks that n is one, between least and most.
func (r *reader) integer(n number, least, most int64) (int64, bool) {
	v, ok := n.integer()
	switch {
	case !n.integral():
		r.problem(schema.TypeMismatch, found(n), "be an integer", "")
	case ok && v < least, !ok && n.f < 0:
		r.problem(schema.OutOfRange, found(n), "be greater than or equal to "+strconv.FormatInt(least, 10), "")
	case ok && v > most, !ok:
		r.problem(schema.OutOfRange, found(n), "be less than or equal to "+strconv.FormatInt(most, 10), "")
	default:
		return v, true
	}
	return 0, false
}

// written is a string, or a number as its author wrote it, near enough: where both may stand.
func written(raw any) (string, bool) {
	if v, ok := raw.(string); ok {
		return v, true
	}
	n, ok := numberOf(raw)
	return n.String(), ok && n.finite()
}

func (r *reader) quantity(written string, target reflect.Value) {
	value, ok := parseQuantity(written)
	switch {
	case !ok:
		r.problem(schema.InvalidValue, schema.Quote(written), wantQuantity, quantityHint(written))
	case target.IsValid():
		target.Set(reflect.ValueOf(value))
	}
}

// Longer quantities, and powers of ten with more digits, are not parsed.
const (
	quantityLimit = 256
	powerLimit    = 3
)

// parseQuantity parses as the API server does, spaces around included, but looks first: the parser raises
// ten to any power that it is told, and long digits cost the square of their number.
func parseQuantity(written string) (resource.Quantity, bool) {
	written = strings.TrimSpace(written)
	if len(written) > quantityLimit {
		return resource.Quantity{}, false
	}
	if at := strings.LastIndexAny(written, "eE"); at >= 0 {
		if power := strings.TrimLeft(written[at+1:], "+-0"); len(power) > powerLimit {
			return resource.Quantity{}, false
		}
	}
	value, err := resource.ParseQuantity(written)
	return value, err == nil
}

// quantityHint mends the usual slips: a B for bytes, a space, the wrong case.
func quantityHint(written string) string {
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
	if mended := written[:digits] + suffix; mended != written {
		if _, ok := parseQuantity(mended); ok {
			return "did you mean " + schema.Quote(mended) + "?"
		}
	}
	return ""
}

// intOrString reports whether raw is of either kind; a number out of range is, and is told.
func (r *reader) intOrString(raw any, target reflect.Value) bool {
	value := intstr.IntOrString{}
	if v, ok := raw.(string); ok {
		value = intstr.FromString(v)
	} else {
		n, ok := numberOf(raw)
		if !ok {
			return false
		}
		v, ok := r.integer(n, math.MinInt32, math.MaxInt32)
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

// encoded walks what JSON can only write as a string.
func (r *reader) encoded(s *shape, raw string, target reflect.Value) {
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
	case err != nil:
		r.problem(schema.InvalidValue, r.found(raw), want, "")
	case target.IsValid():
		target.Set(reflect.ValueOf(value).Convert(target.Type()))
	}
}

// store decodes what has no shape, a type with a decoder of its own, by way of JSON: nothing of raw is kept.
func (r *reader) store(raw any, target reflect.Value) {
	if !target.IsValid() {
		return
	}
	if err := json.Unmarshal(encode(nil, raw), target.Addr().Interface()); err != nil {
		r.problem(schema.InvalidValue, found(raw), "be well-formed", "")
	}
}
