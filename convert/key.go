package convert

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"

	"stoic/schema"
)

// mayBeKey reports whether encoding/json writes maps with keys of a type.
func mayBeKey(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// isPlainKey reports whether a key is the same string in Go and in JSON.
func isPlainKey(t reflect.Type) bool {
	return t.Kind() == reflect.String && !reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// key decodes a key of a Go map as encoding/json does.
func (r *Reader) key(text string, t reflect.Type) (key reflect.Value, ok bool) {
	target := reflect.New(t)
	key = target.Elem()
	if own, is := target.Interface().(encoding.TextUnmarshaler); is {
		if err := own.UnmarshalText([]byte(text)); err != nil {
			if !r.Full() {
				r.Problem(schema.InvalidValue, "", "have a well-formed key", r.said(err, []byte(text)))
			}
			return key, false
		}
		return key, true
	}
	if key.CanInt() {
		n, err := strconv.ParseInt(text, 10, t.Bits())
		if key.SetInt(n); err == nil {
			return key, true
		}
	} else {
		n, err := strconv.ParseUint(text, 10, t.Bits())
		if key.SetUint(n); err == nil {
			return key, true
		}
	}
	if !r.Full() {
		least, most := rangeOf(t)
		r.Problem(schema.InvalidValue, "", fmt.Sprintf("have a key that is an integer from %d to %d", least, most), "")
	}
	return key, false
}

// rangeOf returns the range of an integer type.
func rangeOf(t reflect.Type) (least int64, most uint64) {
	if reflect.Zero(t).CanInt() {
		return -1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1
	}
	return 0, 1<<t.Bits() - 1
}
