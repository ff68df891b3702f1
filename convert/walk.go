package convert

import (
	"reflect"

	"stoic/schema"
)

// depthLimit bounds what is walked without a shape: fields of a pod that no library knows yet.
const depthLimit = 64

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
	for _, key := range r.keys.take(raw) {
		r.member(s, raw, key, target)
	}
	r.keys.release(raw)
}

// member walks one field of an object.
func (r *reader) member(s *shape, raw map[string]any, key string, target reflect.Value) {
	r.at = append(r.at, step{key: key, within: raw, shape: s})
	if f := s.fields[key]; f == nil {
		r.unknown(s, key)
		if r.at.kept() {
			r.opaque(raw[key], 0)
		}
	} else {
		var member reflect.Value
		if target.IsValid() && f.index != nil {
			member = target.FieldByIndex(f.index)
		}
		r.walk(f.shape, raw[key], member)
	}
	r.leave()
}

func (r *reader) dict(s *shape, raw map[string]any, target reflect.Value) {
	if target.IsValid() {
		target.Set(reflect.MakeMapWithSize(target.Type(), len(raw)))
	}
	for _, key := range r.keys.take(raw) {
		r.enter(key)
		r.entry(s.elem, key, raw[key], target)
		r.leave()
	}
	r.keys.release(raw)
}

// entry walks one value of a map. A null text is the empty text, as the API server has it in labels; any
// other null is a mistake, because an entry without a value would have to be made up.
func (r *reader) entry(s *shape, key string, raw any, target reflect.Value) {
	switch {
	case raw == nil && s.form != text:
		r.mismatch(s.form, raw)
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
	switch v := raw.(type) {
	case nil, string, bool:
	case map[string]any:
		if r.tooDeep(depth) {
			return
		}
		for _, key := range r.keys.take(v) {
			r.enter(key)
			r.opaque(v[key], depth+1)
			r.leave()
		}
		r.keys.release(v)
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

func (r *reader) tooDeep(depth int) bool {
	if depth < depthLimit {
		return false
	}
	r.problem(schema.TooLarge, "more than 64 levels", "be nested less deeply", "")
	return true
}
