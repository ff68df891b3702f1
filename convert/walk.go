package convert

import (
	"reflect"

	"stoic/schema"
)

// What is walked without a shape, fields of a pod that no library knows yet, is bounded in depth and in number. No
// API server lets in so many values; an object that holds itself, or the same map in many places, has more.
const (
	depthLimit = 64
	valueLimit = 1 << 20
)

// walk checks raw against a shape and, if target is valid, decodes into it. Null stands for absent: the
// callers for whom that is a mistake (items of lists, values of maps) look for it first.
func (r *reader) walk(s *shape, raw any, target reflect.Value) {
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
		r.opaque(raw, 0)
		r.store(raw, target)
		return
	default:
		r.scalar(s, raw, target)
		return
	}
	r.mismatch(s.form, raw)
}

// pointer decodes into what target shall point to. It stays nil if a plain value is wrong, so that nobody takes
// the zero for the author's; an object may be wrong in parts.
func (r *reader) pointer(s *shape, raw any, target reflect.Value) {
	before := r.problems.count
	value := reflect.New(target.Type().Elem())
	r.walk(s, raw, value.Elem())
	if s.form == object || r.problems.count == before {
		target.Set(value)
	}
}

func (r *reader) object(s *shape, raw map[string]any, target reflect.Value) {
	for key, value := range raw {
		r.member(s, raw, key, value, target)
	}
	if s.needs != nil || s.oneOf != nil || s.checks != nil {
		r.whole(s, raw)
	}
}

// useless warns of what has no effect, unless there is nothing in it: programs write fields that are null or empty.
func (r *reader) useless(s *shape, raw any) {
	if m, ok := raw.(map[string]any); absent(raw) || ok && len(m) == 0 || r.warnings.skip(r.at) {
		return
	}
	r.warning(schema.MisplacedField, found(raw), "", s.why)
}

// member walks one field of an object.
func (r *reader) member(s *shape, within map[string]any, key string, raw any, target reflect.Value) {
	f := s.fields[key]
	r.at = append(r.at, step{key: key, within: within, shape: s, kept: r.at.kept() || f != nil && f.kept})
	if f == nil {
		r.unknown(s, key)
		if r.at.kept() {
			r.opaque(raw, 0)
		}
	} else {
		var member reflect.Value
		if target.IsValid() && f.index != nil {
			member = target.FieldByIndex(f.index)
		}
		r.walk(f.shape, raw, member)
	}
	r.leave()
}

func (r *reader) dict(s *shape, raw map[string]any, target reflect.Value) {
	if target.IsValid() {
		target.Set(reflect.MakeMapWithSize(target.Type(), len(raw)))
	}
	for key, value := range raw {
		r.enter(key)
		r.entry(s.elem, key, value, target)
		r.leave()
	}
}

// entry walks one value of a map. A null text is the empty text, as the API server has it in labels; any
// other null is a mistake, because an entry without a value would have to be made up.
func (r *reader) entry(s *shape, key string, raw any, target reflect.Value) {
	switch {
	case raw == nil && s.form != text:
		r.mismatch(s.form, nil)
	case !target.IsValid():
		r.walk(s, raw, target)
	default:
		value := reflect.New(target.Type().Elem()).Elem()
		r.walk(s, raw, value)
		target.SetMapIndex(reflect.ValueOf(key).Convert(target.Type().Key()), value)
	}
}

func (r *reader) list(s *shape, raw []any, target reflect.Value) {
	if target.IsValid() {
		target.Set(reflect.MakeSlice(target.Type(), len(raw), len(raw)))
	}
	for i, value := range raw {
		r.enterItem(i)
		switch {
		case value == nil:
			r.mismatch(s.elem.form, nil)
		case target.IsValid():
			r.walk(s.elem, value, target.Index(i))
		default:
			r.walk(s.elem, value, target)
		}
		r.leave()
	}
}

// opaque checks what no shape describes but what is copied all the same: it must be JSON, and not too deep.
func (r *reader) opaque(raw any, depth int) {
	if r.opaques++; r.opaques > valueLimit {
		r.problems.count++ // told of the whole
		return
	}
	switch v := raw.(type) {
	case nil, string, bool:
	case map[string]any:
		if r.tooDeep(depth) {
			return
		}
		for key, value := range v {
			r.enter(key)
			r.opaque(value, depth+1)
			r.leave()
		}
	case []any:
		if r.tooDeep(depth) {
			return
		}
		for i, value := range v {
			r.enterItem(i)
			r.opaque(value, depth+1)
			r.leave()
		}
	default:
		if n, ok := numberOf(raw); !ok || !n.finite() {
			r.problem(schema.TypeMismatch, r.found(raw), "be a value that JSON knows", "")
		}
	}
}

// tooDeep tells of the field that is so many levels above, which no shape describes, not of each place in it.
func (r *reader) tooDeep(depth int) bool {
	if depth < depthLimit {
		return false
	}
	r.opaques += 100 // it costs as much to tell
	r.problems.add(r.at[:len(r.at)-depth], schema.TooLarge, "more than 64 levels", "be nested less deeply", "")
	return true
}
