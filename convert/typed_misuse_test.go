package convert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
)

// TestTypedFunctions: the author's functions are called where nothing else is wrong, defaults first; what they say is
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

// TestTypedMisuse: what makes no sense is found when a program starts.
func TestTypedMisuse(t *testing.T) {
	for want, misuse := range map[string]func(){
		"string is not a struct":              func() { Typed[string](gadgets()) },
		"does not embed metav1.TypeMeta":      func() { Typed[gadgetSpec](gadgets()) },
		"a rule on corev1.PodSpec|v1.PodSpec": func() { Typed[gadget](gadgets(), Need[corev1.PodSpec]("containers")) },
		"a rule about a field name, which":    func() { Typed[gadget](gadgets(), Need[gadgetTag]("name")) },
		"a rule about a field x, which":       func() { Typed[gadget](gadgets(), ExactlyOne[gadgetTag]("key", "x")) },
		"a rule about a field y, which":       func() { Typed[gadget](gadgets(), Span[gadgetTag](0, 1, "y")) },
		"Validate of *convert.gadgetSpec":     func() { Typed[gadget](gadgets(), Validate(func(*gadgetSpec) []schema.Problem { return nil })) },
		"Slim of *convert.gadgetSpec":         func() { Typed[gadget](gadgets(), Slim(func(*gadgetSpec) {})) },
		"Default of *convert.gadgetSpec":      func() { Typed[gadget](gadgets(), Default(func(*gadgetSpec) {})) },
		`"oneof" is not known`: made[struct {
			A string `stoic:"oneof=a"`
		}](),
		`"uuid" is no kind of names`: made[struct {
			A string `stoic:"name=uuid"`
		}](),
		`.A: the field has another type`: made[struct {
			A string `stoic:"min=1"`
		}](),
		`.B: the field has another type`: made[struct {
			B int `stoic:"maxLength=1"`
		}](),
		`.C: the field has another type`: made[struct {
			C string `stoic:"minItems=1"`
		}](),
		`"-1" is not a number of things`: made[struct {
			A string `stoic:"minLength=-1"`
		}](),
		`"300" is not an integer that the`: made[struct {
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
	} {
		panicsWith(t, want, misuse)
	}
}
