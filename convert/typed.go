package convert

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

// Option constrains or extends a type beyond its Go form. Rules are options; the others are Validate, Default, Slim, Verbatim and
// MaxName.
type Option interface{ addTo(*options) }

// options are the options of Typed. Those in defaults, validate, slim and verbatim are functions on the type T.
type options struct {
	rules                    []Rule
	defaults, validate, slim []any
	verbatim                 []verbatim[any]
	nameLimit                nameLimit
}

func (r Rule) addTo(o *options) { o.rules = append(o.rules, r) }

type optionFunc func(*options)

func (f optionFunc) addTo(o *options) { f(o) }

// Validate adds checks that no rule can express. The function returns the problems of an object; Path spells their paths. It is
// called only on objects without any other problem, and must not change them. If it panics, the object is rejected with a message
// that says that the operator is at fault.
func Validate[T any](check func(*T) []schema.Problem) Option {
	return optionFunc(func(o *options) { o.validate = append(o.validate, check) })
}

// Default adds a function that sets what the user left out. It is called on objects that are well-formed and keep all rules, before
// Validate. A panic is handled as in Validate.
func Default[T any](fill func(*T)) Option {
	return optionFunc(func(o *options) { o.defaults = append(o.defaults, fill) })
}

// Slim reduces objects to what decisions need, as Owned.Slim does for dependents. What the function sets to its zero value takes no
// memory in the cache, such as a pod template that Verbatim keeps as text. It is called last, on accepted objects. A panic is
// handled as in Validate.
func Slim[T any](cut func(*T)) Option {
	return optionFunc(func(o *options) { o.slim = append(o.slim, cut) })
}

// MaxName rejects objects whose own name has more bytes. Because is the reason in the message: "its Jobs have names that begin with
// it". A maxLength in a schema gives no reason.
func MaxName(most int, because string) Option {
	return optionFunc(func(o *options) { o.nameLimit = nameLimit{most, because} })
}

// nameLimit holds the arguments of MaxName; the zero value is no limit.
type nameLimit struct {
	most    int
	because string
}

func (l nameLimit) check(name string) []schema.Problem {
	if l.most == 0 || len(name) <= l.most {
		return nil
	}
	return []schema.Problem{{Code: schema.InvalidName, Path: "metadata.name", Found: fmt.Sprintf("%s of %d characters", schema.Quote(name), len(name)),
		Want: fmt.Sprintf("have at most %d", l.most), Hint: l.because}}
}

// Typed returns a conversion of the objects of a resource to T, a type in the form of a CRD:
//
//	type FooBar struct {
//		metav1.TypeMeta   `json:",inline"`
//		metav1.ObjectMeta `json:"metadata,omitempty"`
//		Spec              FooBarSpec   `json:"spec,omitempty"`
//		Status            FooBarStatus `json:"status,omitempty"`
//	}
//
// The conversion is total: it returns for every input, never panics, gives the same result each time, does not change the input and
// keeps nothing of it. It may be used from many goroutines.
//
//	head      metadata, leniently: name, namespace and UID are read from rejected objects, too
//	identity  whether it is of this resource and has a name
//	spec      whether every value fits its type, and the tags (see TagName) and rules are kept; a field that T does not
//	          have is a warning, all else is a problem. An absent spec is read as an empty one
//	status    leniently: malformed values are left out, and are never a reason to reject. Head.Status points to it,
//	          whether one is on record or not, and is nil only if T has no status
//	defaults  the functions of Default, then those of Validate, then those of Slim
//
// Result.Object is a *T. Its metadata lacks managedFields. Types of Kubernetes within T must meet the constraints of API servers,
// as far as this package has rules for them. A pod template is checked as a whole only with the rule
// And[corev1.PodTemplateSpec]((*Reader).PodTemplate).
//
// T has the fields and names that encoding/json gives it, so that what is written can be read again. Names are matched exactly, as
// API servers do. The option string of encoding/json is not supported.
//
// Typed panics if T is no such type, or if a tag or an option makes no sense for it, which is a defect of the program. Call it at
// the start of a program, like regexp.MustCompile.
func Typed[T any](of schema.Resource, with ...Option) func(*unstructured.Unstructured) *Result {
	return typedOf[T](of, with).convert
}

func typedOf[T any](of schema.Resource, with []Option) *typed[T] {
	var o options
	for _, option := range with {
		if option == nil {
			panic("convert: an option of " + reflect.TypeFor[T]().String() + " is nil")
		}
		option.addTo(&o)
	}
	if o.nameLimit.most < 0 {
		panic(fmt.Sprintf("convert: MaxName of %s is %d", reflect.TypeFor[T](), o.nameLimit.most))
	}
	c := &typed[T]{layout: layoutOf(reflect.TypeFor[T](), o.rules), of: of, nameLimit: o.nameLimit}
	for _, f := range o.defaults {
		c.defaults = append(c.defaults, functionOf[T, func(*T)]("Default", f))
	}
	for _, v := range o.verbatim {
		c.verbatim = append(c.verbatim, verbatim[func(*T, []byte)]{functionOf[T, func(*T, []byte)]("Verbatim", v.put), v.path})
		c.keep(v.path)
	}
	for _, f := range o.validate {
		c.validate = append(c.validate, functionOf[T, func(*T) []schema.Problem]("Validate", f))
	}
	for _, f := range o.slim {
		c.slim = append(c.slim, functionOf[T, func(*T)]("Slim", f))
	}
	return c
}

// functionOf returns the function of an option. It panics if that is nil or is not a function on T.
func functionOf[T, F any](option string, f any) F {
	function, ok := f.(F)
	if !ok {
		panic("convert: " + option + " of " + reflect.TypeOf(f).In(0).String() + ", not of " + reflect.TypeFor[*T]().String())
	}
	if reflect.ValueOf(f).IsNil() {
		panic("convert: " + option + " of " + reflect.TypeFor[*T]().String() + " is nil")
	}
	return function
}

// typed is a conversion to T.
type typed[T any] struct {
	*layout
	of        schema.Resource
	nameLimit nameLimit
	verbatim  []verbatim[func(*T, []byte)]
	defaults  []func(*T)
	validate  []func(*T) []schema.Problem
	slim      []func(*T)
}

func (c *typed[T]) convert(u *unstructured.Unstructured) (result *Result) {
	var raw map[string]any
	if u != nil {
		raw = u.Object
	}
	result = &Result{Head: head(c.of, raw)}
	if c.status != nil {
		result.Status = reflect.New(c.statusType).Interface()
	}
	defer func() {
		if cause := recover(); cause != nil {
			result.Panic = NewPanic(cause)
			result.Object, result.Rejection = nil, &schema.Rejection{Problems: []schema.Problem{Broken(cause)}}
		}
	}()
	r, object := NewReader(), new(T)
	c.read(r, result.Head, raw, reflect.ValueOf(object).Elem())
	result.Warnings = r.Warnings()
	r.Take(clean(c.nameLimit.check(result.Head.Meta.Name)), nil)
	if r.Count() == 0 {
		c.putVerbatim(object, raw)
		for _, fill := range c.defaults {
			fill(object)
		}
		for _, check := range c.validate {
			r.Take(clean(check(object)), nil)
		}
	}
	if r.Count() > 0 {
		result.Rejection = &schema.Rejection{Problems: r.Problems()}
		return result
	}
	for _, cut := range c.slim {
		cut(object)
	}
	result.Object = object
	return result
}

// layout holds the indices and shapes of the parts of a CRD type.
type layout struct {
	whole, metadata *Shape
	// index leads to the Go fields apiVersion, kind, metadata and status; status is nil if there is none.
	apiVersion, kind, meta, status []int
	statusShape                    *Shape
	statusType                     reflect.Type // not a pointer
}

// layoutOf returns the layout of t. It panics if t is no CRD type.
func layoutOf(t reflect.Type, rules []Rule) *layout {
	if t.Kind() != reflect.Struct {
		panic("convert: " + t.String() + " is not a struct")
	}
	b := builder{known: map[reflect.Type]*Shape{}, rules: slices.Concat(ofKubernetes(), rules)}
	l := &layout{whole: b.whole(t)}
	for _, rule := range rules {
		if b.known[rule.on] == nil {
			panic("convert: a rule on " + rule.on.String() + ", which is not in " + t.String())
		}
	}
	of := func(name string) []int {
		if f := l.whole.fields[name]; f != nil {
			return f.index
		}
		return nil
	}
	l.apiVersion, l.kind, l.meta, l.status = of("apiVersion"), of("kind"), of("metadata"), of("status")
	if l.apiVersion == nil || l.kind == nil || l.meta == nil || t.FieldByIndex(l.meta).Type != reflect.TypeFor[metav1.ObjectMeta]() {
		panic("convert: " + t.String() + " does not embed metav1.TypeMeta and metav1.ObjectMeta as API types do")
	}
	if l.status != nil {
		l.statusShape, l.statusType = l.whole.fields["status"].shape, t.FieldByIndex(l.status).Type
		if l.statusType.Kind() == reflect.Pointer {
			l.statusType = l.statusType.Elem()
		}
	}
	l.metadata = shapeOf(reflect.TypeFor[metav1.ObjectMeta]()).Clone()
	l.metadata.Set("managedFields", Ignored())
	l.whole = l.whole.Clone()
	for _, name := range []string{"apiVersion", "kind", "metadata", "status"} { // which are read in ways of their own
		l.whole.Set(name, Ignored())
	}
	return l
}

// read decodes an object, and sets the status in its head.
func (l *layout) read(r *Reader, head *schema.Head, raw map[string]any, into reflect.Value) {
	into.FieldByIndex(l.apiVersion).SetString(head.Resource.APIVersion())
	into.FieldByIndex(l.kind).SetString(head.Resource.Kind)
	l.readMeta(r, head, raw, into)
	if l.status != nil {
		status := reflect.ValueOf(head.Status).Elem()
		head.StatusUnfit = r.readLeniently(l.statusShape, raw["status"], status)
		if target := into.FieldByIndex(l.status); target.Kind() != reflect.Pointer {
			target.Set(status)
		} else if raw["status"] != nil {
			target.Set(status.Addr())
		}
	}
	r.identity(head.Resource, raw)
	r.Walk(l.whole, raw, into)
	if spec := l.whole.fields["spec"]; spec != nil && spec.shape.form == object && raw["spec"] == nil && !l.asksForSpec() {
		r.EnterField(l.whole, raw, "spec")
		r.whole(spec.shape, nil)
		r.Leave()
	}
}

// asksForSpec reports whether an absent spec is a problem of its own.
func (l *layout) asksForSpec() bool {
	return slices.Contains(l.whole.required, "spec") || slices.Contains(l.whole.needs, "spec")
}

// readMeta is lenient: identity reports problems of name and namespace, and the API server checks the rest.
func (l *layout) readMeta(r *Reader, head *schema.Head, raw map[string]any, into reflect.Value) {
	meta := into.FieldByIndex(l.meta).Addr().Interface().(*metav1.ObjectMeta)
	r.readLeniently(l.metadata, raw["metadata"], reflect.ValueOf(meta).Elem())
	meta.Generation = head.Meta.Generation
	meta.CreationTimestamp, meta.DeletionTimestamp = head.Meta.CreationTimestamp, head.Meta.DeletionTimestamp
}

// head reads what can be read of any object, except for the status.
func head(of schema.Resource, raw map[string]any) *schema.Head {
	h := &schema.Head{Resource: of, Meta: Meta(raw)}
	status, _ := raw["status"].(map[string]any)
	if generation, ok := IntegerOf(status["observedGeneration"]); ok && generation > 0 {
		h.ObservedGeneration = generation
	}
	h.Begun = len(status) > 0
	return h
}

// clean bounds the problems of a user's function: they are written into conditions and events, and counted by code.
func clean(problems []schema.Problem) []schema.Problem {
	problems = slices.Clone(problems)
	for i := range problems {
		p := &problems[i]
		p.Path, p.Found = schema.Clean(p.Path, MaxPath), schema.Clean(p.Found, 150)
		p.Want, p.Hint = schema.Clean(p.Want, 200), schema.Clean(p.Hint, 150)
		if !slices.Contains(schema.Codes(), p.Code) {
			p.Code = schema.InvalidValue
		}
		if p.Path == "" {
			p.Path = "spec"
		}
		if p.Found == "" && p.Want == "" {
			p.Want = "be valid"
		}
	}
	return problems
}
