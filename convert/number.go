package convert

import (
	"encoding/json"
	"math"
	"strconv"
)

// number is a JSON number as untyped objects hold it: an integer, or a float if it has a fraction, an exponent or too many digits.
type number struct {
	whole bool // i holds it, else f
	i     int64
	f     float64
}

func whole(i int64) number        { return number{whole: true, i: i, f: float64(i)} }
func fractional(f float64) number { return number{f: f} }

// numberOf reads raw as a number. Decoders make int64 and float64; programs that build objects may use the other types.
func numberOf(raw any) (number, bool) {
	switch v := raw.(type) {
	case int64:
		return whole(v), true
	case float64:
		return fractional(v), true
	case int:
		return whole(int64(v)), true
	case int32:
		return whole(int64(v)), true
	case int16:
		return whole(int64(v)), true
	case int8:
		return whole(int64(v)), true
	case uint:
		return unsigned(uint64(v)), true
	case uint64:
		return unsigned(v), true
	case uint32:
		return whole(int64(v)), true
	case uint16:
		return whole(int64(v)), true
	case uint8:
		return whole(int64(v)), true
	case float32:
		return fractional(float64(v)), true
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return whole(i), true
		}
		f, err := v.Float64()
		return fractional(f), err == nil
	}
	return number{}, false
}

// IntegerOf returns a number as an integer of 64 bits if that is exact: 3.0 is an integer, 3.5 and "3" are not.
func IntegerOf(raw any) (int64, bool) {
	n, ok := numberOf(raw)
	v, whole := n.integer()
	return v, ok && whole
}

func unsigned(u uint64) number {
	if u > math.MaxInt64 {
		return fractional(float64(u))
	}
	return whole(int64(u))
}

func (n number) finite() bool { return n.whole || !math.IsNaN(n.f) && !math.IsInf(n.f, 0) }

// integer returns the number as an integer of 64 bits if that is exact: 3.0 is one, 3.5 and 1e30 are not.
func (n number) integer() (int64, bool) {
	if n.whole {
		return n.i, true
	}
	// -(1<<63) is a float64, and so is 1<<63, the first number that is too large.
	if n.f != math.Trunc(n.f) || n.f < -(1<<63) || n.f >= 1<<63 {
		return 0, false
	}
	return int64(n.f), true
}

// integral reports whether the number has no fraction, at any size.
func (n number) integral() bool { return n.whole || n.finite() && n.f == math.Trunc(n.f) }

// append appends the number as JSON.
func (n number) append(b []byte) []byte {
	if n.whole {
		return strconv.AppendInt(b, n.i, 10)
	}
	if i, ok := n.integer(); ok {
		return strconv.AppendInt(b, i, 10)
	}
	format := byte('f')
	if size := math.Abs(n.f); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, n.f, format, -1, 64)
}

func (n number) String() string { return string(n.append(nil)) }
