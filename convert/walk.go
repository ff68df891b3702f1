package convert

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"stoic/schema"
)

const (
	// depthLimit bounds what is walked without a shape: fields of a pod that no library knows yet.
	depthLimit = 64
	// toldLimit is how many problems are kept, and how many warnings; the rest is counted.
	toldLimit = 100
)

// reader walks one object and collects what is wrong with it. A mistake ends nothing: what is wrong is told
// and left out, and the walk goes on.
type reader struct {
	kind     *schema.Kind
	problems findings
	warnings findings
	// ordered: visit maps in order of key. It is needed only if there is more to tell than is kept, because
	// then the order decides what is kept; see Object.
	ordered bool
}

// findings are problems, up to a limit, and how many there were.
type findings struct {
	told  []schema.Problem
	count int
}

// problem reports what keeps the object from being a job.
func (r *reader) problem(p *path, code schema.Code, found, want, hint string) {
	r.problems.add(p, code, found, want, hint)
}

// warning reports what does not.
func (r *reader) warning(p *path, code schema.Code, found, want, hint string) {
	r.warnings.add(p, code, found, want, hint)
}

// full says that a further finding will only be counted, so that its words need not be found.
func (f *findings) full() bool { return len(f.told) >= toldLimit }

func (f *findings) add(p *path, code schema.Code, found, want, hint string) {
	f.count++
	if !f.full() {
		f.told = append(f.told, schema.Problem{Code: code, Path: p.String(), Found: found, Want: want, Hint: hint})
	}
}

// entries are the fields of raw, in an order that is the same each time if that matters.
func (r *reader) entries(raw map[string]any) iter.Seq2[string, any] {
	if !r.ordered {
		return maps.All(raw)
	}
	return func(yield func(string, any) bool) {
		for _, key := range slices.Sorted(maps.Keys(raw)) {
			if !yield(key, raw[key]) {
				return
			}
		}
	}
}

// walk checks raw against a shape and, if target is valid, decodes into it. Null stands for absent: the
// callers for whom that is a mistake (items of lists, values of maps) look for it first.
func (r *reader) walk(p *path, s *shape, raw any, target reflect.Value) {
	if raw == nil || s.form == ignored {
		return
	}
	for target.IsValid() && target.Kind() == reflect.Pointer {
		if target.IsNil() {
			target.Set(reflect.New(target.Type().Elem()))
		}
		target = target.Elem()
	}
	switch s.form {
	case object:
		if m, ok := raw.(map[string]any); ok {
			r.object(p, s, m, target)
			return
		}
	case dict:
		if m, ok := raw.(map[string]any); ok {
			r.dict(p, s, m, target)
			return
		}
	case list:
		if l, ok := raw.([]any); ok {
			r.list(p, s, l, target)
			return
		}
	case anything:
		r.opaque(p, raw, 0)
		store(target, raw)
		return
	default:
		r.scalar(p, s, raw, target)
		return
	}
	r.mismatch(p, s, raw)
}

func (r *reader) object(p *path, s *shape, raw map[string]any, target reflect.Value) {
	for key, value := range r.entries(raw) {
		r.member(p, s, raw, key, value, target)
	}
}

// member walks one field of an object.
func (r *reader) member(p *path, s *shape, within map[string]any, key string, raw any, target reflect.Value) {
	step := path{parent: p, key: key, within: within, shape: s}
	f := s.fields[key]
	if f == nil {
		r.unknown(&step, s)
		if p.kept() {
			r.opaque(&step, raw, 0)
		}
		return
	}
	var member reflect.Value
	if target.IsValid() && f.index != nil {
		member = target.FieldByIndex(f.index)
	}
	r.walk(&step, f.shape, raw, member)
}

func (r *reader) dict(p *path, s *shape, raw map[string]any, target reflect.Value) {
	if target.IsValid() {
		target.Set(reflect.MakeMapWithSize(target.Type(), len(raw)))
	}
	for key, value := range r.entries(raw) {
		r.entry(p, s, key, value, target)
	}
}

// entry walks one value of a map. A null text is the empty text, as the API server has it in labels; any
// other null is a mistake, because an entry without a value would have to be made up.
func (r *reader) entry(p *path, s *shape, key string, raw any, target reflect.Value) {
	step := path{parent: p, key: key}
	if raw == nil && s.elem.form != text {
		r.mismatch(&step, s.elem, raw)
		return
	}
	if !target.IsValid() {
		r.walk(&step, s.elem, raw, reflect.Value{})
		return
	}
	value := reflect.New(target.Type().Elem()).Elem()
	r.walk(&step, s.elem, raw, value)
	target.SetMapIndex(reflect.ValueOf(key).Convert(target.Type().Key()), value)
}

func (r *reader) list(p *path, s *shape, raw []any, target reflect.Value) {
	if target.IsValid() {
		target.Set(reflect.MakeSlice(target.Type(), len(raw), len(raw)))
	}
	for i, value := range raw {
		step := path{parent: p, index: i, at: true}
		if value == nil {
			r.mismatch(&step, s.elem, nil)
			continue
		}
		var item reflect.Value
		if target.IsValid() {
			item = target.Index(i)
		}
		r.walk(&step, s.elem, value, item)
	}
}

// opaque checks what no shape describes but what is copied all the same: it must be JSON, and not too deep.
func (r *reader) opaque(p *path, raw any, depth int) {
	switch v := raw.(type) {
	case map[string]any:
		if depth >= depthLimit {
			r.problem(p, schema.TooLarge, "more than 64 levels", "be nested less deeply", "")
			return
		}
		for key, value := range r.entries(v) {
			step := path{parent: p, key: key}
			r.opaque(&step, value, depth+1)
		}
	case []any:
		if depth >= depthLimit {
			r.problem(p, schema.TooLarge, "more than 64 levels", "be nested less deeply", "")
			return
		}
		for i, value := range v {
			step := path{parent: p, index: i, at: true}
			r.opaque(&step, value, depth+1)
		}
	case nil, string, bool:
	default:
		if n, ok := numberOf(raw); !ok || !n.finite() {
			r.problem(p, schema.TypeMismatch, r.found(p, raw), "be a value that JSON knows", "")
		}
	}
}
