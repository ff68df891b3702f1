package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
)

// TestTypedFunctions: the user's functions are called only if there is no other problem, defaults first. Their problems are
// bounded, and a panic in one is a rejection that blames the operator.
func TestTypedFunctions(t *testing.T) {
	asked := 0
	read := Typed[gadget](gadgets(),
		Default(func(g *gadget) { g.Spec.Inner = "filled" }),
		Validate(func(g *gadget) []schema.Problem {
			asked++
			switch g.Spec.Target {
			case "panic":
				panic("oh\nno")
			case "nil":
				return []schema.Problem{{Hint: g.Spec.Tree.Name}}
			case "odd":
				return []schema.Problem{{}, {Code: "Mine", Path: strings.Repeat("p", 5000), Found: "\x00\xff" + strings.Repeat("f", 5000), Want: strings.Repeat("w", 5000), Hint: strings.Repeat("h", 5000)}}
			}
			return nil
		}))
	if got := read(gadgetIn(map[string]any{"target": "mine"})); got.Object == nil || got.Object.(*gadget).Spec.Inner != "filled" {
		t.Errorf("%+v", got)
	}
	if got := read(gadgetIn(map[string]any{"target": "panic", "type": "odd"})); len(sentences(got)) != 1 || asked != 1 {
		t.Errorf("asked %d times, %q", asked, sentences(got))
	}
	for target, want := range map[string]string{
		"panic": `spec: found an object on which the operator fails with "oh no"; this is a bug in the operator, not in the object; please report it`,
		"nil":   `spec: found an object on which the operator fails with "runtime error: invalid memory address or nil pointer dere..."; this is a bug in the operator, not in the object; please report it`,
	} {
		got := read(gadgetIn(map[string]any{"target": target, "x": true}, map[string]any{"metadata": map[string]any{"name": "g", "uid": "u"}}))
		if diff := cmp.Diff([]string{want, "warning: spec.x: unknown field"}, sentences(got)); diff != "" || got.Meta.UID != "u" || got.Object != nil {
			t.Errorf("%s: %+v (-want +got):\n%s", target, got.Meta, diff)
		}
	}
	got := read(gadgetIn(map[string]any{"target": "odd"}))
	if got.Rejection == nil || len(got.Rejection.Problems) != 2 {
		t.Fatalf("%+v", got)
	}
	for _, p := range got.Rejection.Problems {
		if p.Code != schema.InvalidValue || len(p.String()) > schema.MaxSummary || strings.ContainsAny(p.String(), "\x00\n") {
			t.Errorf("%d bytes: %q", len(p.String()), p)
		}
	}
}

// TestTypedMisuse: options that make no sense are found when a program starts.
func TestTypedMisuse(t *testing.T) {
	for want, misuse := range map[string]func(){
		"string is not a struct":              func() { Typed[string](gadgets()) },
		"does not embed metav1.TypeMeta":      func() { Typed[gadgetSpec](gadgets()) },
		"a rule on corev1.PodSpec|v1.PodSpec": func() { Typed[gadget](gadgets(), Need[corev1.PodSpec]("containers")) },
		"a rule about a field name of convert.gadgetTag, which is not among key, value": func() { Typed[gadget](gadgets(), Need[gadgetTag]("name")) },
		"a rule about a field x of convert.gadgetTag, which is not among key, value":    func() { Typed[gadget](gadgets(), ExactlyOne[gadgetTag]("key", "x")) },
		"a rule about a field y of convert.gadgetTag, which is not among key, value":    func() { Typed[gadget](gadgets(), Span[gadgetTag](0, 1, "y")) },
		"Validate of *convert.gadgetSpec":                                               func() { Typed[gadget](gadgets(), Validate(func(*gadgetSpec) []schema.Problem { return nil })) },
		"Slim of *convert.gadgetSpec":                                                   func() { Typed[gadget](gadgets(), Slim(func(*gadgetSpec) {})) },
		"Default of *convert.gadgetSpec":                                                func() { Typed[gadget](gadgets(), Default(func(*gadgetSpec) {})) },
		"a rule about a field z of convert.gadgetTag, which":                            func() { Typed[gadget](gadgets(), Hide[gadgetTag]("z")) },
		"a rule about no field of convert.gadgetTag":                                    func() { Typed[gadget](gadgets(), Need[gadgetTag]()) },
		"Span of the field key of convert.gadgetTag: it is for integers and intstr.IntOrString, and for lists of them, and the field is a string": func() {
			Typed[gadget](gadgets(), Span[gadgetTag](0, 1, "key"))
		},
		"Span of the field ratio of convert.gadgetSpec: it is for integers and intstr.IntOrString, and for lists of them, and the field is a *float64": func() {
			Typed[gadget](gadgets(), Span[gadgetSpec](0, 1, "ratio"))
		},
		"Span from 5 to 3 of the field most of convert.gadgetSpec, which no value keeps": func() { Typed[gadget](gadgets(), Span[gadgetSpec](5, 3, "most")) },
		"Choice of the field most of convert.gadgetSpec: it is for strings, and for":     func() { Typed[gadget](gadgets(), Choice[gadgetSpec]("most", "7")) },
		"Choice of the field key of convert.gadgetTag has no words":                      func() { Typed[gadget](gadgets(), Choice[gadgetTag]("key")) },
		"a rule on v1.Duration, which has a decoder of its own":                          func() { Typed[gadget](gadgets(), On[metav1.Duration](func(*Shape) {})) },
		"And of convert.gadgetTag wants a struct, and a function that is not nil":        func() { Typed[gadget](gadgets(), And[gadgetTag](nil)) },
		"And of map[string]string wants a struct":                                        func() { Typed[gadget](gadgets(), And[map[string]string](subPaths)) },
		"Advise of convert.gadgetTag wants a struct":                                     func() { Typed[gadget](gadgets(), Advise[gadgetTag](nil)) },
		"On of convert.gadgetTag is nil":                                                 func() { Typed[gadget](gadgets(), On[gadgetTag](nil)) },
		"Words of string are none":                                                       func() { Typed[gadget](gadgets(), Words[string]()) },
		"Default of *convert.gadget is nil":                                              func() { Typed[gadget](gadgets(), Default[gadget](nil)) },
		"Validate of *convert.gadget is nil":                                             func() { Typed[gadget](gadgets(), Validate[gadget](nil)) },
		"Slim of *convert.gadget is nil":                                                 func() { Typed[gadget](gadgets(), Slim[gadget](nil)) },
		"Verbatim of *convert.gadget is nil":                                             func() { Typed[gadget](gadgets(), Verbatim[gadget](nil, "spec", "tree")) },
		"Verbatim of *convert.gadgetSpec":                                                func() { Typed[gadget](gadgets(), Verbatim(func(*gadgetSpec, []byte) {}, "spec")) },
		"Verbatim of spec.nothing, where no":                                             func() { Typed[gadget](gadgets(), Verbatim(func(*gadget, []byte) {}, "spec", "nothing")) },
		"Verbatim of spec.target.more, where":                                            func() { Typed[gadget](gadgets(), Verbatim(func(*gadget, []byte) {}, "spec", "target", "more")) },
		"Verbatim of status, where no field":                                             func() { Typed[gadget](gadgets(), Verbatim(func(*gadget, []byte) {}, "status")) },
		"Verbatim of , where no field of the":                                            func() { Typed[gadget](gadgets(), Verbatim(func(*gadget, []byte) {})) },
		"an option of convert.gadget is nil":                                             func() { Typed[gadget](gadgets(), nil) },
		"MaxName of convert.gadget is -1":                                                func() { Typed[gadget](gadgets(), MaxName(-1, "")) },
	} {
		panicsWith(t, want, misuse)
	}
}

// TestTagMisuse: a tag that makes no sense for its field is found when a program starts.
func TestTagMisuse(t *testing.T) {
	for want, misuse := range map[string]func(){
		`"oneof" is not known`: made[struct {
			A string `stoic:"oneof=a"`
		}](),
		`"uuid" is no kind of names`: made[struct {
			A string `stoic:"name=uuid"`
		}](),
		`.A: min is for integers, intstr.IntOrString and floats, and for lists of them, and the field is a string`: made[struct {
			A string `stoic:"min=1"`
		}](),
		`.A: enum is for strings and integers, and for lists of them, and the field is a map[string]convert.Word`: made[struct {
			A map[string]Word `stoic:"enum=a"`
		}](),
		`.C: minItems is for lists and maps, and the field is a string`: made[struct {
			C string `stoic:"minItems=1"`
		}](),
		`"-1" is not a number of things`: made[struct {
			A string `stoic:"minLength=-1"`
		}](),
		`"300" is not an integer from -128 to 127, as the field holds`: made[struct {
			A int8 `stoic:"max=300"`
		}](),
		`"x" is not a number`: made[struct {
			A float64 `stoic:"max=x"`
		}](),
		`"x" is not an integer`: made[struct {
			A int `stoic:"enum=1;x"`
		}](),
		"error parsing regexp: missing closing": made[struct {
			A string `stoic:"pattern=("`
		}](),
		`.A: minLength is 5, and maxLength 3`: made[struct {
			A string `stoic:"minLength=5,maxLength=3"`
		}](),
		`.A: "3" is not an integer from 5 to 9223372036854775807, as the field holds`: made[struct {
			A int `stoic:"min=5,max=3"`
		}](),
		`.A: no number is from 0.5 to 0.25`: made[struct {
			A float64 `stoic:"min=0.5,max=0.25"`
		}](),
		`.A: minItems is 2, and at most 1 are allowed`: made[struct {
			A []string `stoic:"minItems=2,maxItems=1"`
		}](),
		`.A: minItems is 3, and at most 2 are allowed`: made[struct {
			A [2]string `stoic:"minItems=3"`
		}](),
		`.A: a [2]string has no place for so many`: made[struct {
			A [2]string `stoic:"maxItems=3"`
		}](),
		`.A: 9 is in the enum, and the field is from 0 to 5`: made[struct {
			A int `stoic:"enum=1;9,min=0,max=5"`
		}](),
		`.A: "abc" is in the enum, and the rest of what is asked of the field refuses it`: made[struct {
			A string `stoic:"enum=a;abc,maxLength=2"`
		}](),
		`.A: "max" is in it twice`: made[struct {
			A int `stoic:"max=3,min=1,max=4"`
		}](),
		`.A: required has no value`: made[struct {
			A int `stoic:"required=false"`
		}](),
		`.A: a field has a name or a pattern, not both`: made[struct {
			A string `stoic:"name=dnsLabel,pattern=^a"`
		}](),
	} {
		panicsWith(t, want, misuse)
	}
	type spec struct {
		N int `json:"n" stoic:"min=11"`
	}
	panicsWith(t, `.N: "11" is not an integer from 5 to 10, as the field holds`, func() { Typed[specOf[spec]](gadgets(), Span[spec](5, 10, "n")) })
}

// TestRulesOfOneType: each rule holds, whatever earlier rules say about the same fields.
func TestRulesOfOneType(t *testing.T) {
	type spec struct {
		A, B, C, D string
		N          int8
	}
	read := Typed[specOf[spec]](gadgets(), ExactlyOne[spec]("A", "B"), ExactlyOne[spec]("C", "D"), Span[spec](-5, 1000, "N"), Span[spec](-1000, 100, "N"))
	for text, want := range map[string][]string{
		`{"A":"a","C":"c","N":-5}`:  nil,
		`{"A":"a","C":"c","N":101}`: {"spec.N: found number 101, must be from -5 to 100"},
		`{"A":"a","B":"b"}`:         {"spec: must have one of `C`, `D`", "spec.B: found `B` beside `A`, must be the only one of the two; remove one"},
		`{"C":"c","D":"d"}`:         {"spec: must have one of `A`, `B`", "spec.D: found `D` beside `C`, must be the only one of the two; remove one"},
	} {
		if diff := cmp.Diff(want, sentences(read(specIn(t, text)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	read = Typed[specOf[spec]](gadgets(), Span[spec](-1000, 1000, "N"))
	if diff := cmp.Diff([]string{"spec.N: found number 300, must be from -128 to 127"}, sentences(read(specIn(t, `{"N":300}`)))); diff != "" {
		t.Errorf("beyond the type (-want +got):\n%s", diff)
	}
}
