package convert

import (
	"maps"
	"reflect"
	"slices"

	"stoic/schema"
)

// A walk is bounded in number and depth. No API server accepts so many values, but an object that contains itself, or the same map
// in many places, has more. The depth is bounded more strictly where no shape bounds it, in fields of a pod that no library knows
// yet.
const (
	MaxDepth   = 64  // levels without a shape
	levelLimit = 256 // levels in all; only recursive types have shapes for as many
	valueLimit = 1 << 20
)

// Walk checks raw against a shape and, if target is valid, decodes into it. Null means absent: callers for which null is a problem
// (items of lists, values of maps) check for it first.
func (r *Reader) Walk(s *Shape, raw any, target reflect.Value) {
	if raw == nil || s.form == ignored {
		return
	}
	if target.IsValid() && target.Kind() == reflect.Pointer {
		r.pointer(s, raw, target)
		return
	}
	switch s.form {
	case useless:
		r.useless(s, raw)
		return
	case object:
		if m, ok := raw.(map[string]any); ok {
			r.object(s, m, target)
			return
		}
	case dict:
		if m, ok := raw.(map[string]any); ok {
			r.dict(s, m, target)
			return
		}
	case list:
		if l, ok := raw.([]any); ok {
			r.list(s, l, target)
			return
		}
	case anything:
		before := r.problems.count
		if r.opaque(raw, 0); r.problems.count == before {
			r.store(raw, target)
		}
		return
	default:
		r.scalar(s, raw, target)
		return
	}
	r.mismatch(s.form, raw)
}

// pointer decodes into a new value and points target to it. Target stays nil if a scalar is malformed, so that its zero value is
// not taken for the user's. An object with malformed parts is kept.
func (r *Reader) pointer(s *Shape, raw any, target reflect.Value) {
	before := r.problems.count
	value := reflect.New(target.Type().Elem())
	r.Walk(s, raw, value.Elem())
	if s.form == object || r.problems.count == before {
		target.Set(value)
	}
}

// room reports whether so many values below the current path may be walked.
func (r *Reader) room(values int) bool {
	if r.values += values + 1; r.values > valueLimit {
		r.problems.count++ // reported once for the whole object
		return false
	}
	if len(r.at) > levelLimit {
		r.values += 100 // a message costs as much
		r.Problem(schema.TooLarge, "more than 256 levels", "be nested less deeply", "")
		return false
	}
	return true
}

func (r *Reader) object(s *Shape, raw map[string]any, target reflect.Value) {
	if !r.room(len(raw)) {
		return
	}
	for key, value := range raw {
		r.Member(s, raw, key, value, target)
	}
	switch {
	case r.lenient: // no other rule about the whole leaves a value out
		r.misses(s, raw)
	case s.needs != nil || s.required != nil || s.oneOf != nil || s.checks != nil:
		r.whole(s, raw)
	}
}

// useless warns of a field that has no effect, unless it is null or empty: programs write such fields.
func (r *Reader) useless(s *Shape, raw any) {
	if m, ok := raw.(map[string]any); absent(raw) || ok && len(m) == 0 || r.WarningsFull() {
		return
	}
	r.Warning(schema.MisplacedField, r.found(raw), "", s.why)
}

// Member walks one field of an object.
func (r *Reader) Member(s *Shape, within map[string]any, key string, raw any, target reflect.Value) {
	f := s.fields[key]
	r.at = append(r.at, step{key: key, within: within, shape: s,
		kept: r.at.kept() || f != nil && f.kept, hidden: r.at.hidden() || f != nil && f.hidden})
	if f == nil {
		r.unknown(s, key)
		if r.at.kept() {
			r.opaque(raw, 0)
		}
	} else {
		var member reflect.Value
		if target.IsValid() && f.index != nil {
			member = fieldOf(target, f.index)
		}
		r.Walk(f.shape, raw, member)
	}
	r.Leave()
}

// fieldOf returns a field of a struct or of an embedded struct. It allocates an embedded pointer that is nil.
func fieldOf(target reflect.Value, index []int) reflect.Value {
	if len(index) == 1 {
		return target.Field(index[0])
	}
	for i, at := range index {
		if i > 0 && target.Kind() == reflect.Pointer {
			if target.IsNil() {
				target.Set(reflect.New(target.Type().Elem()))
			}
			target = target.Elem()
		}
		target = target.Field(at)
	}
	return target
}

func (r *Reader) dict(s *Shape, raw map[string]any, target reflect.Value) {
	if !r.room(len(raw)) {
		return
	}
	if s.limits != nil && !r.lenient {
		r.size(s.limits, raw, len(raw))
	}
	if target.IsValid() {
		target.Set(reflect.MakeMapWithSize(target.Type(), len(raw)))
	}
	if s.keyed { // two keys may be read as one: the last in order counts
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			r.entry(s, key, raw[key], target)
		}
		return
	}
	for key, value := range raw {
		r.entry(s, key, value, target)
	}
}

// entry walks one value of a map. A null text is the empty text, as for the API server in labels. Where any JSON is allowed, null
// is a value. Any other null is a problem, because the value of the entry would have to be invented.
func (r *Reader) entry(of *Shape, key string, raw any, target reflect.Value) {
	r.Enter(key)
	defer r.Leave()
	s := of.elem
	switch {
	case raw == nil && s.form != text && s.form != anything:
		r.mismatch(s.form, nil)
	case !target.IsValid():
		r.Walk(s, raw, target)
	default:
		value := reflect.New(target.Type().Elem()).Elem()
		before := r.problems.count
		if r.element(s, raw, value); r.lenient && !s.readable(raw, r.problems.count == before) {
			return
		}
		if !of.keyed {
			target.SetMapIndex(reflect.ValueOf(key).Convert(target.Type().Key()), value)
		} else if at, ok := r.key(key, target.Type().Key()); ok {
			target.SetMapIndex(at, value)
		}
	}
}

// element walks a value of a map or an item of a list. Where any JSON is allowed, null is a value.
func (r *Reader) element(s *Shape, raw any, target reflect.Value) {
	if raw == nil && s.form == anything {
		r.store(nil, target)
		return
	}
	r.Walk(s, raw, target)
}

// readable reports whether any part of a value was read. An object or list with malformed parts only lacks those parts.
func (s *Shape) readable(raw any, sound bool) bool {
	switch raw.(type) {
	case map[string]any:
		return sound || s.form == object || s.form == dict
	case []any:
		return sound || s.form == list
	}
	return sound
}

// itemsAtOnce is the initial capacity for the items of a list. It doubles until further malformed items would not be reported: a
// short malformed item may stand for a struct that is a hundred times as large.
const itemsAtOnce = 64

func (r *Reader) list(s *Shape, raw []any, target reflect.Value) {
	if !r.room(len(raw)) {
		return
	}
	if s.limits != nil && !r.lenient {
		r.size(s.limits, raw, len(raw))
	}
	if target.IsValid() && target.Kind() == reflect.Array {
		r.array(s, raw, target)
		return
	}
	if r.lenient && target.IsValid() {
		r.listLeniently(s, raw, target)
		return
	}
	if target.IsValid() {
		size := min(len(raw), itemsAtOnce)
		target.Set(reflect.MakeSlice(target.Type(), size, size))
	}
	for i, value := range raw {
		r.EnterItem(i)
		switch {
		case target.IsValid() && i == target.Len() && r.problems.beyond(r.at):
			target = reflect.Value{}
		case target.IsValid() && i == target.Len():
			size := min(len(raw)-i, i)
			target.Grow(size)
			target.SetLen(i + size)
		}
		switch {
		case value == nil && s.elem.form != anything:
			r.mismatch(s.elem.form, nil)
		case target.IsValid():
			r.element(s.elem, value, target.Index(i))
		default:
			r.Walk(s.elem, value, target)
		}
		r.Leave()
	}
}

// array decodes into a Go array. Missing items are zero, as in encoding/json. size reports surplus items.
func (r *Reader) array(s *Shape, raw []any, target reflect.Value) {
	for i, value := range raw {
		var item reflect.Value
		if i < target.Len() {
			item = target.Index(i)
		} else if r.lenient { // which asks for no size
			r.problems.count++
		}
		r.EnterItem(i)
		if value == nil && s.elem.form != anything {
			r.mismatch(s.elem.form, nil)
		} else {
			r.element(s.elem, value, item)
		}
		r.Leave()
	}
}

// listLeniently leaves out the items of which nothing can be read.
func (r *Reader) listLeniently(s *Shape, raw []any, target reflect.Value) {
	items := reflect.MakeSlice(target.Type(), 0, 0) // memory grows with the kept items, not with the items read
	for _, value := range raw {
		item := reflect.New(target.Type().Elem()).Elem()
		before := r.problems.count
		r.EnterItem(items.Len())
		r.element(s.elem, value, item)
		r.Leave()
		if (value != nil || s.elem.form == anything) && s.elem.readable(value, r.problems.count == before) {
			items = reflect.Append(items, item)
			continue
		}
		r.problems.count++ // a null, of which Walk says nothing
	}
	target.Set(items)
}

// opaque checks a value that no shape describes but that is copied nevertheless: it must be JSON, and not too deep.
func (r *Reader) opaque(raw any, depth int) {
	if r.opaques++; r.opaques > valueLimit {
		r.problems.count++ // reported once for the whole object
		return
	}
	switch v := raw.(type) {
	case nil, string, bool:
	case map[string]any:
		if r.tooDeep(depth) {
			return
		}
		for key, value := range v {
			r.Enter(key)
			r.opaque(value, depth+1)
			r.Leave()
		}
	case []any:
		if r.tooDeep(depth) {
			return
		}
		for i, value := range v {
			r.EnterItem(i)
			r.opaque(value, depth+1)
			r.Leave()
		}
	default:
		if n, ok := numberOf(raw); !ok || !n.finite() {
			r.Problem(schema.TypeMismatch, r.found(raw), "be a value that JSON knows", "")
		}
	}
}

// tooDeep reports the field that many levels above, which no shape describes, instead of each place in it.
func (r *Reader) tooDeep(depth int) bool {
	if depth < MaxDepth {
		return false
	}
	r.opaques += 100 // a message costs as much
	r.problems.add(r.at[:len(r.at)-depth], schema.TooLarge, "more than 64 levels", "be nested less deeply", "")
	return true
}
