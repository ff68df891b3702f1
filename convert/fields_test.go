package convert

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// specOf is a CRD type with this spec.
type specOf[T any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              T `json:"spec"`
}

// specIn returns an object with a spec in JSON.
func specIn(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	text := `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g","namespace":"n"},"spec":` + spec + `}`
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return &u
}

// asDecoded checks that a spec is read as encoding/json reads it, and that its encoding is read as the same spec.
func asDecoded[T any](spec string) func(*testing.T) {
	return func(t *testing.T) {
		var want T
		if err := json.Unmarshal([]byte(spec), &want); err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{spec, string(written)} {
			got := Typed[specOf[T]](gadgets())(specIn(t, text))
			if said := sentences(got); said != nil {
				t.Fatalf("%s: %q", text, said)
			}
			text, err := json.Marshal(got.Object.(*specOf[T]).Spec)
			if diff := cmp.Diff(string(written), string(text)); diff != "" || err != nil {
				t.Errorf("%s: %v (-encoding/json +got):\n%s", text, err, diff)
			}
		}
	}
}

// Types that others embed.
type (
	Word   string
	Words3 map[string]string
	Part   struct {
		Name string `json:"name,omitempty"`
		Size int    `json:"size,omitempty"`
	}
	Other struct {
		Name string `json:"name,omitempty"`
	}
	Deeper struct {
		Other
		Size string `json:"size,omitempty"`
	}
	Looped struct {
		*Looped
		Name string `json:"name,omitempty"`
	}
	part struct {
		Name string `json:"name,omitempty"`
	}
	lowerWord string
	Labelled  struct{ Label string }
	part3     struct {
		Word string `json:"Label"`
	}
	Named struct{ Label string }
)

// TestFieldsAsEncodingJSON: a struct has the fields and names that encoding/json gives it.
func TestFieldsAsEncodingJSON(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"an embedded struct": asDecoded[struct{ Part }](`{"name":"a","size":1}`),
		"an embedded struct, inline": asDecoded[struct {
			Part `json:",inline"`
		}](`{"name":"a","size":1}`),
		"an embedded struct with a name": asDecoded[struct {
			Part `json:"part"`
		}](`{"part":{"name":"a"}}`),
		"an embedded struct, both": asDecoded[struct {
			Part `json:"part,inline"`
		}](`{"part":{"name":"a"}}`),
		"an embedded pointer":              asDecoded[struct{ *Part }](`{"name":"a"}`),
		"an embedded struct, not exported": asDecoded[struct{ part }](`{"name":"a"}`),
		"an embedded text":                 asDecoded[struct{ Word }](`{"Word":"a"}`),
		"an embedded text with a name": asDecoded[struct {
			Word `json:"word"`
		}](`{"word":"a"}`),
		"an embedded pointer to a text": asDecoded[struct {
			*Word `json:",omitempty"`
		}](`{"Word":"a"}`),
		"an embedded text, not exported": asDecoded[struct{ lowerWord }](`{}`),
		"an embedded map":                asDecoded[struct{ Words3 }](`{"Words3":{"a":"b"}}`),
		"an embedded struct in one":      asDecoded[struct{ Deeper }](`{"name":"a","size":"b"}`),
		"a struct that embeds itself":    asDecoded[struct{ Looped }](`{"name":"a"}`),
		"the less deep of two": asDecoded[struct {
			Deeper
			Other Other `json:"name"`
		}](`{"name":{"name":"a"},"size":"b"}`),
		"the one that has a tag of two": asDecoded[struct {
			Name string
			Word string `json:"Name"`
		}](`{"Name":"a"}`),
		"the one that has a tag of three": asDecoded[struct {
			Labelled
			Named
			part3
		}](`{"Label":"a"}`),
		"a name that is a dash": asDecoded[struct {
			A int `json:"-,"`
		}](`{"-":1}`),
		"no name": asDecoded[struct{ A, B int }](`{"A":1,"B":2}`),
		"a name with odd letters": asDecoded[struct {
			A int `json:"a\"b"`
		}](`{"A":1}`),
		"a name with a space": asDecoded[struct {
			A int `json:"a b"`
		}](`{"a b":1}`),
		"a field that is left out": asDecoded[struct {
			A int `json:"-"`
			b int
		}](`{}`),
		"a map with integers for keys":   asDecoded[map[int]string](`{"1":"a"}`),
		"a map with numbers above int64": asDecoded[map[uint64]string](`{"18446744073709551615":"a"}`),
		"a map with texts of a type":     asDecoded[map[netip.Addr][]int](`{"10.0.0.1":[1]}`),
		"a map with strings of a type":   asDecoded[map[Word]Part](`{"a":{"size":1}}`),
		"an array":                       asDecoded[struct{ A [3]int }](`{"A":[1,2,3]}`),
		"an array that lacks items":      asDecoded[struct{ A [3]int }](`{"A":[1]}`),
		"an array of bytes":              asDecoded[struct{ A [2]byte }](`{"A":[1,2]}`),
		"any JSON, where null is a value": asDecoded[struct {
			Values map[string]apiextensionsv1.JSON
			Raw    map[string]json.RawMessage
			Any    map[string]any
			List   []any
			Items  []apiextensionsv1.JSON
		}](`{"Values":{"a":null,"b":{"c":null}},"Raw":{"a":null,"d":[null]},"Any":{"a":null,"d":[null],"e":"f"},"List":[null,"a",[null]],"Items":[null,"a",[null]]}`),
		"an array of any JSON":           asDecoded[struct{ A [2]any }](`{"A":[null,{"b":null}]}`),
		"bytes":                          asDecoded[struct{ A []byte }](`{"A":"aGk="}`),
		"bytes of a type of their own":   asDecoded[struct{ A []octet }](`{"A":"aGk="}`),
		"a type of such bytes":           asDecoded[struct{ A octets }](`{"A":"aGk="}`),
		"bytes that are written as text": asDecoded[struct{ A []level }](`{"A":["low","high"]}`),
		"json.Number":                    asDecoded[struct{ A, B, C json.Number }](`{"A":1,"B":2.5,"C":"3"}`),
		"uintptr":                        asDecoded[struct{ A uintptr }](`{"A":1}`),
	} {
		t.Run(name, test)
	}
}

type (
	octet  byte
	octets []octet
	level  byte // which is low or high
)

func (l level) MarshalText() ([]byte, error) { return []byte([]string{"low", "high"}[l]), nil }

func (l *level) UnmarshalText(text []byte) error {
	if *l = 0; string(text) == "high" {
		*l = 1
	}
	return nil
}

// TestArrays: an item that exceeds a Go array is not dropped silently.
func TestArrays(t *testing.T) {
	type arrays struct {
		A [3]int    `json:"a,omitempty"`
		B *[1]Part  `json:"b,omitempty"`
		C [2]string `json:"c,omitempty" stoic:"minItems=1,enum=x;y"`
	}
	for spec, want := range map[string][]string{
		`{"a":[1,2,3,4]}`:         {"spec.a: found a list of 4 items, must have at most 3 items"},
		`{"a":[1,"2",null]}`:      {`spec.a[1]: found string "2", must be an integer; remove the quotes`, "spec.a[2]: found null, must be an integer"},
		`{"a":"1"}`:               {`spec.a: found string "1", must be a list; write ["1"]`},
		`{"b":[{"size":"a"},{}]}`: {"spec.b: found a list of 2 items, must have at most 1 item", `spec.b[0].size: found string "a", must be an integer`},
		`{"b":[{"sizes":1}]}`:     {"warning: spec.b[0].sizes: unknown field; did you mean `size`?"},
		`{"c":[]}`:                {"spec.c: found an empty list, must have at least 1 item"},
		`{"c":["z"]}`:             {`spec.c[0]: found "z", must be one of "x", "y"`},
		`{"a":[],"c":["x"]}`:      nil,
	} {
		if diff := cmp.Diff(want, sentences(Typed[specOf[arrays]](gadgets())(specIn(t, spec)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
	shape := shapeOf(reflect.TypeFor[arrays]())
	for _, c := range []struct {
		items []any
		unfit bool
		want  [3]int
	}{
		{[]any{int64(1), int64(2), int64(3)}, false, [3]int{1, 2, 3}},
		{[]any{int64(1)}, false, [3]int{1}},
		{[]any{int64(1), int64(2), int64(3), int64(4)}, true, [3]int{1, 2, 3}},
		{[]any{int64(1), "2", int64(3)}, true, [3]int{1, 0, 3}},
		{[]any{nil}, true, [3]int{}},
	} {
		var got arrays
		if unfit := new(Reader).readLeniently(shape, map[string]any{"a": c.items}, reflect.ValueOf(&got).Elem()); unfit != c.unfit || got.A != c.want {
			t.Errorf("a status with %v: unfit %t, %v", c.items, unfit, got.A)
		}
	}
}

// panicsWith fails unless call panics with a message that has these words, or one of the alternatives between bars.
func panicsWith(t *testing.T, want string, call func()) {
	t.Helper()
	defer func() {
		said := fmt.Sprint(recover())
		for one := range strings.SplitSeq(want, "|") {
			if strings.Contains(said, one) {
				return
			}
		}
		t.Errorf("got %s, want %s", said, want)
	}()
	call()
}

// made returns a function that makes a converter for a spec, which panics.
func made[T any]() func() { return func() { Typed[specOf[T]](gadgets()) } }

// TestFieldsMisuse: a field that encoding/json treats otherwise than users expect is found when a program starts.
func TestFieldsMisuse(t *testing.T) {
	for want, misuse := range map[string]func(){
		`.N has the tag json:"n,string", by which encoding/json writes a string where the type has another value; use no ,string`: made[struct {
			N int64 `json:"n,string"`
		}](),
		`.B has the tag json:",inline", of which encoding/json does not know inline: it writes a field "B"`: made[struct {
			B Part `json:",inline"`
		}](),
		`.M has the tag json:"m,inline", of which encoding/json does not know inline: it writes a field "m"`: made[struct {
			M map[string]string `json:"m,inline"`
		}](),
		`the tag stoic:"required" of struct { convert.Part "stoic:\"required\"" }.Part has no effect: the fields of an embedded struct`: made[struct {
			Part `stoic:"required"`
		}](),
		`.a has no effect: the field is not exported`: made[struct {
			a string `stoic:"required"`
		}](),
		`.A has no effect: JSON leaves out the field`: made[struct {
			A string `json:"-" stoic:"required"`
		}](),
		`convert.Labelled.Label and convert.Named.Label are both "Label" in JSON`: made[struct {
			Labelled
			Named
		}](),
		`convert.part.Name is in struct { *convert.part }.part, a pointer to a struct that is not exported`: made[struct{ *part }](),
		`.A has no effect: the struct has a decoder of its own, or embeds one`: made[struct {
			metav1.Time
			A string `stoic:"required"`
		}](),
		`.A: max is for integers`: made[struct {
			M map[int]struct {
				A string `stoic:"max=1"`
			}
		}](),
		`.M holds a func()`: made[struct{ M map[int]func() }](),
		`.C holds a chan int, which encoding/json cannot read and write`: made[struct{ C chan int }](),
		`.D holds a func(), which`:                                       made[struct{ D []func() }](),
		`.E holds a complex128, which`:                                   made[struct{ E map[string]complex128 }](),
		`.F holds a io.Reader, which`:                                    made[struct{ F io.Reader }](),
		`.G holds a map[bool]int, which`:                                 made[struct{ G map[bool]int }](),
	} {
		panicsWith(t, want, misuse)
	}
}
