package convert

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"stoic/schema"
)

// shape is what JSON may look like to fit a Go type: the plan by which the walker checks and decodes it.
// Pointers leave no trace in a shape: every field may be absent.
type shape struct {
	form form
	// Of objects: the fields by JSON name, and the names in order.
	fields map[string]*field
	names  []string
	// Of lists and maps: what they hold.
	elem *shape
	// Of integers: the range of the type, or that of the field; and whether they are thought of in octal.
	min, max int64
	octal    bool
	// Of texts: the words that may be there, and how they must be written; nil if any may.
	words    []string
	spelling *spelling
	listed   bool // in a list, where an empty text is not the same as none
	// Of objects: the fields that must be there, those of which one must be, and what else to check; see rules.go.
	needs  []string
	oneOf  []string
	checks []func(*reader, map[string]any)
	// Of what has no effect: why.
	why string
}

type field struct {
	shape *shape
	// index leads to the Go field; nil if the value is checked but not decoded.
	index []int
	// kept: the raw value goes into the template as it is, also what no shape knows, so all of it is checked.
	kept bool
}

type form int

const (
	ignored  form = iota // not looked at
	useless              // not looked at, but its author may think that it is
	anything             // any JSON
	object
	dict // a map with keys of the author's choice
	list
	text
	boolean
	integer
	float
	binary // base64 in a string
	quantity
	intOrString
	moment   // RFC 3339
	duration // "1m30s"
)

// shapes caches the shape of each Go type that has been asked for: by reflect.Type, or by *schema.Kind for
// the shape of a kind's objects. Only types and kinds that are compiled in get here, so it does not grow.
var shapes sync.Map

// shapeOf is the shape of a Go type.
func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	b := builder{known: map[reflect.Type]*shape{}, rules: rules()}
	built, _ := shapes.LoadOrStore(t, b.build(t))
	return built.(*shape)
}

// objectOf is the shape of a whole object of a kind. Its spec holds the run policy, the roles, and the
// fields that only this kind has; the latter lead into what Kind.Options returns.
func objectOf(kind *schema.Kind) *shape {
	if known, ok := shapes.Load(kind); ok {
		return known.(*shape)
	}
	spec := &shape{form: object, fields: map[string]*field{}}
	if t := reflect.TypeOf(kind.Options()); t != nil {
		for name, f := range shapeOf(t).fields {
			spec.fields[name] = f
		}
	}
	roles := &shape{form: dict, elem: shapeOf(reflect.TypeFor[schema.ReplicaSpec]())}
	spec.fields["runPolicy"] = &field{shape: shapeOf(reflect.TypeFor[schema.RunPolicySpec]())}
	spec.fields[kind.RolesField] = &field{shape: roles}
	whole := &shape{form: object, fields: map[string]*field{
		"apiVersion": {shape: &shape{form: text}},
		"kind":       {shape: &shape{form: text}},
		"metadata":   {shape: shapeOf(reflect.TypeFor[metav1.ObjectMeta]())},
		"spec":       {shape: spec.named()},
		"status":     {shape: &shape{form: ignored}},
	}}
	built, _ := shapes.LoadOrStore(kind, whole.named())
	return built.(*shape)
}

// special types have a JSON form that their Go form does not tell.
func special(t reflect.Type) (form, bool) {
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return quantity, true
	case reflect.TypeFor[intstr.IntOrString]():
		return intOrString, true
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return moment, true
	case reflect.TypeFor[metav1.Duration]():
		return duration, true
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return anything, true
	}
	return 0, false
}

// builder makes shapes. Known holds those under way, so that a type may hold itself.
type builder struct {
	known map[reflect.Type]*shape
	rules []rule
}

func (b *builder) build(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := b.known[t]; ok {
		return s
	}
	s := &shape{}
	b.known[t] = s
	if special, ok := special(t); ok {
		s.form, s.min, s.max = special, math.MinInt32, math.MaxInt32
		return s
	}
	b.form(s, t)
	for _, rule := range b.rules {
		if rule.on == t {
			rule.put(s)
		}
	}
	if t == reflect.TypeFor[corev1.PodTemplateSpec]() {
		s.limitToTemplate()
	}
	return s
}

// form fills in what the Go type says.
func (b *builder) form(s *shape, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		s.form = object
		s.fields = map[string]*field{}
		b.collect(s, t, nil)
		s.named()
	case reflect.Map:
		s.form = anything
		if t.Key().Kind() == reflect.String {
			s.form, s.elem = dict, b.build(t.Elem())
		}
	case reflect.Slice:
		s.form = binary
		if t.Elem().Kind() != reflect.Uint8 {
			s.form, s.elem = list, b.build(t.Elem())
		}
	case reflect.String:
		s.form = text
	case reflect.Bool:
		s.form = boolean
	case reflect.Float32, reflect.Float64:
		s.form = float
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		s.form, s.min, s.max = integer, -1<<(t.Bits()-1), 1<<(t.Bits()-1)-1
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		s.form, s.min, s.max = integer, 0, math.MaxInt64
		if t.Bits() < 64 {
			s.max = 1<<t.Bits() - 1
		}
	default:
		s.form = anything
	}
}

// collect adds the fields of struct t by the rules of encoding/json, as far as API types use them.
func (b *builder) collect(s *shape, t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		at := append(slices.Clone(index), i)
		if f.Anonymous && name == "" || strings.Contains(options, "inline") {
			if f.Type.Kind() == reflect.Struct {
				b.collect(s, f.Type, at)
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		if shallower, ok := s.fields[name]; ok && len(shallower.index) <= len(at) {
			continue
		}
		s.fields[name] = &field{shape: b.build(f.Type), index: at}
	}
}

// limitToTemplate makes the shape of a pod template say what becomes of one: it is kept as the author wrote
// it and never decoded, and of its metadata only three fields reach the pod. Its restart policy does not.
func (s *shape) limitToTemplate() {
	meta := &shape{form: object, fields: map[string]*field{}}
	for name, f := range s.fields["metadata"].shape.fields {
		switch name {
		case "labels", "annotations", "finalizers":
			meta.fields[name] = &field{shape: f.shape}
		default:
			meta.fields[name] = &field{shape: &shape{form: useless, why: "it is ignored, only `labels`, `annotations` and `finalizers` reach the pods"}}
		}
	}
	meta.fields["name"].shape.why = "it is ignored, pods are named after the job"
	meta.fields["generateName"].shape.why = meta.fields["name"].shape.why
	meta.fields["namespace"].shape.why = "it is ignored, pods run in the namespace of the job"
	s.fields["metadata"] = &field{shape: meta.named()}
	spec := *s.fields["spec"].shape
	spec.fields = maps.Clone(spec.fields)
	spec.fields["restartPolicy"] = &field{shape: &shape{form: ignored}}
	s.fields["spec"] = &field{shape: &spec, kept: true}
}

func (s *shape) named() *shape {
	s.names = make([]string, 0, len(s.fields))
	for name := range s.fields {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return s
}
