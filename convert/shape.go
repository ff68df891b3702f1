package convert

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Shape is what JSON must look like to fit a Go type: the walker checks and decodes by it. Pointers make no difference to a shape:
// every field may be absent.
type Shape struct {
	form form
	// Of objects: the fields by JSON name, and the names in order.
	fields map[string]*field
	names  []string
	// Of lists and maps: the shape of their items or values, and whether the keys are not plain strings.
	elem  *Shape
	keyed bool
	// Of integers: the range of the type, or of the field; and whether users think of them in octal.
	min, max int64
	octal    bool
	// Of integers: the range of the type.
	lowest, highest int64
	// Of texts: the allowed words and the form; nil allows all.
	words    []string
	spelling *spelling
	listed   bool // in a list, where an empty text is not the same as none
	// limits are bounds beyond those of the type; nil if there are none.
	limits *limits
	// Of objects: the fields that must be set, those of which one must be, and other checks; see rules.go.
	needs    []string
	required []string // likewise, but they may be empty
	oneOf    [][]string
	checks   []func(*Reader, map[string]any)
	// Of objects: what is known of fields that they do not define; nil if nothing is.
	advise func(within map[string]any, key string) Advice
	// Of useless fields: why they have no effect.
	why string
}

type field struct {
	shape *Shape
	// index leads to the Go field; nil if the value is checked but not decoded.
	index []int
	// kept: the raw value goes into the template unchanged, including what no shape knows, so all of it is checked.
	kept bool
	// hidden: no message repeats the value.
	hidden bool
	// notNull: encoding/json never writes the zero value of the Go field as null.
	notNull bool
}

type form int

const (
	ignored  form = iota // not looked at
	useless              // not looked at, but the user may think that it is
	anything             // any JSON
	object
	dict // a map with keys of the user's choice
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

// notNull reports whether encoding/json never writes the zero value of a Go type as null. A type's own MarshalJSON may write null.
func notNull(t reflect.Type, of form) bool {
	switch of {
	case quantity, intOrString, duration:
		return t.Kind() != reflect.Pointer
	case object, text, boolean, integer, float:
		return t.Kind() != reflect.Pointer && !t.Implements(reflect.TypeFor[json.Marshaler]())
	}
	return false
}

// Shapes makes the shapes of Go types and keeps them, by the rules of this package for the types of Kubernetes and by further
// rules. It does not grow without bound, because only compiled types get here.
type Shapes struct {
	known sync.Map // by reflect.Type
	rules []Rule
}

// NewShapes returns Shapes with rules beyond those of this package.
func NewShapes(further ...Rule) *Shapes { return &Shapes{rules: further} }

// Of returns the shape of a Go type. It panics if a rule names a field that its type does not have.
func (s *Shapes) Of(t reflect.Type) *Shape {
	if known, ok := s.known.Load(t); ok {
		return known.(*Shape)
	}
	b := builder{known: map[reflect.Type]*Shape{}, rules: slices.Concat(ofKubernetes(), s.rules)}
	built, _ := s.known.LoadOrStore(t, b.whole(t))
	return built.(*Shape)
}

// shapes holds the shapes by the rules of this package alone.
var shapes = NewShapes()

// shapeOf returns the shape of a Go type by the rules of this package alone.
func shapeOf(t reflect.Type) *Shape { return shapes.Of(t) }

// WholeOf returns the shape of a whole object whose spec has a shape. Its status is not looked at.
func WholeOf(spec *Shape) *Shape {
	return ObjectOf(map[string]*Shape{"apiVersion": {form: text}, "kind": {form: text},
		"metadata": shapeOf(reflect.TypeFor[metav1.ObjectMeta]()), "spec": spec, "status": {form: ignored}})
}

// ObjectOf returns the shape of an object with these fields. They are checked but not decoded.
func ObjectOf(fields map[string]*Shape) *Shape {
	s := &Shape{form: object, fields: make(map[string]*field, len(fields))}
	for name, of := range fields {
		s.fields[name] = &field{shape: of}
	}
	return s.named()
}

// MapOf returns the shape of an object with keys of the user's choice.
func MapOf(values *Shape) *Shape { return &Shape{form: dict, elem: values} }

// Join adds the fields of other objects to those of s. They are decoded into the same Go fields as in the others.
func (s *Shape) Join(others ...*Shape) *Shape {
	for _, other := range others {
		for name, f := range other.fields {
			s.fields[name] = f
		}
	}
	return s.named()
}

// Field returns the shape of a field; nil if there is none of that name.
func (s *Shape) Field(name string) *Shape {
	if f := s.fields[name]; f != nil {
		return f.shape
	}
	return nil
}

// Names returns the names of the fields, sorted.
func (s *Shape) Names() []string { return slices.Clone(s.names) }

// special returns the JSON form of types whose Go form does not show it.
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
	case reflect.TypeFor[json.Number]():
		return anything, true
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return anything, true
	}
	return 0, false
}

// builder makes shapes. Known holds the unfinished ones, too, so that a type may contain itself.
type builder struct {
	known map[reflect.Type]*Shape
	rules []Rule
	tags  []tagged
	at    string // the field whose type is looked at, as Go names it, for messages
}

// whole builds the shape of a type, and then applies the tags of all types in it. It waits because a type may contain itself.
func (b *builder) whole(t reflect.Type) *Shape {
	s := b.build(t)
	for _, tag := range b.tags {
		tag.apply()
	}
	return s
}

func (b *builder) build(t reflect.Type) *Shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := b.known[t]; ok {
		return s
	}
	s := &Shape{}
	b.known[t] = s
	special, isSpecial := special(t)
	if isSpecial {
		s.form, s.min, s.max = special, math.MinInt32, math.MaxInt32
		untagged(t)
	} else {
		b.form(s, t)
	}
	s.lowest, s.highest = s.min, s.max
	for _, rule := range b.rules {
		switch {
		case rule.on != t:
		case isSpecial:
			panic("convert: a rule on " + t.String() + ", which has a decoder of its own, so that no rule is asked")
		default:
			rule.put(s)
		}
	}
	return s
}

// form fills in what follows from the Go type.
func (b *builder) form(s *Shape, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		s.form = object
		s.fields = map[string]*field{}
		b.collect(s, t)
		s.named()
	case reflect.Map:
		b.writable(t, mayBeKey(t.Key()))
		s.form, s.elem, s.keyed = dict, b.build(t.Elem()), !isPlainKey(t.Key())
	case reflect.Slice:
		s.form = binary
		if !isByte(t.Elem()) {
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
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		s.form, s.min, s.max = integer, 0, math.MaxInt64
		if t.Bits() < 64 {
			s.max = 1<<t.Bits() - 1
		}
	case reflect.Interface:
		b.writable(t, t.NumMethod() == 0)
		s.form = anything
	case reflect.Array: // of bytes, too: encoding/json writes base64 of slices alone
		s.form, s.elem = list, b.build(t.Elem())
		s.limited().maxItems = t.Len()
	default:
		b.writable(t, false)
	}
}

// writable panics unless encoding/json reads and writes a type.
func (b *builder) writable(t reflect.Type, is bool) {
	if !is {
		panic(fmt.Sprintf("convert: %s holds a %s, which encoding/json cannot read and write", b.at, t))
	}
}

// isByte reports whether encoding/json writes slices of a type as base64.
func isByte(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() == reflect.Uint8 && !p.Implements(reflect.TypeFor[json.Marshaler]()) && !p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// collect adds the fields of a struct.
func (b *builder) collect(s *Shape, t reflect.Type) {
	for _, f := range jsonFields(t) {
		b.at = f.String()
		of := b.build(f.Type)
		s.fields[f.name] = &field{shape: of, index: f.index, notNull: notNull(f.Type, of.form)}
		if tag := f.Tag.Get(TagName); tag != "" {
			b.tags = append(b.tags, tagged{f.String(), f.Type, s, f.name, tag})
		}
	}
}

// Set adds a field to an object, or replaces the shape of one. The field is checked but not decoded.
func (s *Shape) Set(name string, of *Shape) {
	s.fields[name] = &field{shape: of, hidden: s.hides(name)}
	s.named()
}

// hides reports whether no message may repeat what is in a field.
func (s *Shape) hides(name string) bool { return s.fields[name] != nil && s.fields[name].hidden }

// Keep declares that the value of a field is used as the user wrote it, including what no shape knows, so that all of it is
// checked. It is not decoded.
func (s *Shape) Keep(name string) {
	s.fields[name] = &field{shape: s.fields[name].shape, kept: true, hidden: s.hides(name)}
}

// Clone returns a copy that can be changed by Set and Keep. The shapes of its fields are not copied.
func (s *Shape) Clone() *Shape {
	clone := *s
	clone.fields = maps.Clone(s.fields)
	return &clone
}

// Useless returns the shape of a field that has no effect. Why is the message to a user who has set it.
func Useless(why string) *Shape { return &Shape{form: useless, why: why} }

// Ignored returns the shape of a field that is not looked at.
func Ignored() *Shape { return &Shape{form: ignored} }

func (s *Shape) named() *Shape {
	s.names = make([]string, 0, len(s.fields))
	for name := range s.fields {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	return s
}
