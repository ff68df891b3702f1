package lean

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"
)

// untypedLibrary returns what untyped clients read with.
func untypedLibrary() runtime.NegotiatedSerializer {
	return dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
}

// sameWatch reads the first event of a watch in both ways. managedFields do not count.
func sameWatch(t rapid.TB, stream string) (got runtime.Object) {
	t.Helper()
	wantKind, want, wantErr := watched(t, runtime.ContentTypeJSON, untypedLibrary(), []byte(stream)).Decode()
	kind, got, err := watched(t, runtime.ContentTypeJSON, uncopiedJSON(untypedLibrary()), []byte(stream)).Decode()
	for _, o := range []runtime.Object{want, got} {
		if u, ok := o.(*unstructured.Unstructured); ok {
			unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
		}
	}
	if diff := cmp.Diff(want, got); kind != wantKind || diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q\n%v, %v; the library: %v, %v; -library +ours:\n%s", stream, kind, err, wantKind, wantErr, diff)
	}
	return got
}

func TestUntypedWatch(t *testing.T) {
	const job = `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"a}\"{","generation":9007199254740993},"spec":{"x":[{"y":1.5},{}],"z":null}}`
	for name, stream := range map[string]string{
		"usual":              `{"type":"ADDED","object":` + job + "}\n",
		"two":                `{"type":"MODIFIED","object":` + job + "}\n" + `{"type":"DELETED","object":` + job + "}\n",
		"bookmark":           `{"type":"BOOKMARK","object":{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"resourceVersion":"7"}}}`,
		"error":              `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","code":410,"reason":"Expired"}}`,
		"status as an event": `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Status","code":410}}`,
		"spaces":             ` { "type" : "ADDED" , "object" : ` + job + "}\n",
		"other order":        `{"object":` + job + `,"type":"ADDED"}`,
		"said twice":         `{"type":"ADDED","object":` + job + `,"type":"DELETED"}`,
		"more":               `{"type":"ADDED","object":` + job + `,"more":{}}`,
		"unknown type":       `{"type":"ODD","object":` + job + `}`,
		"no object":          `{"type":"ADDED"}`,
		"null":               `{"type":"ADDED","object":null}`,
		"number":             `{"type":"ADDED","object":7}`,
		"text":               `{"type":"ADDED","object":"}"}`,
		"array":              `{"type":"ADDED","object":[{}]}`,
		"empty object":       `{"type":"ADDED","object":{}}`,
		"no kind":            `{"type":"ADDED","object":{"apiVersion":"kubeflow.org/v1"}}`,
		"kind is a number":   `{"type":"ADDED","object":{"apiVersion":"kubeflow.org/v1","kind":7}}`,
		"no version":         `{"type":"ADDED","object":{"kind":"TFJob"}}`,
		"odd version":        `{"type":"ADDED","object":{"kind":"TFJob","apiVersion":"a/b/c"}}`,
		"half a version":     `{"type":"ADDED","object":{"kind":"TFJob","apiVersion":"a/"}}`,
		"no group":           `{"type":"ADDED","object":{"kind":"TFJob","apiVersion":"/v1"}}`,
		"a list":             `{"type":"ADDED","object":{"kind":"TFJobList","apiVersion":"kubeflow.org/v1","items":[]}}`,
		"a field items":      `{"type":"ADDED","object":{"kind":"TFJob","apiVersion":"kubeflow.org/v1","items":{"a":1}}}`,
		"said twice inside":  `{"type":"ADDED","object":{"kind":"TFJob","apiVersion":"kubeflow.org/v1","spec":1,"spec":{"a":2}}}`,
		"no UTF-8":           "{\"type\":\"ADDED\",\"object\":{\"kind\":\"TFJob\",\"apiVersion\":\"kubeflow.org/v1\",\"x\":\"\xff\"}}",
		"cut":                `{"type":"ADDED","object":{"kind":"TFJob"`,
		"too many":           `{"type":"ADDED","object":{"kind":"TFJob"}}}`,
		"nothing":            ``,
	} {
		t.Run(name, func(t *testing.T) { sameWatch(t, stream) })
	}
	if u := sameWatch(t, `{"type":"ADDED","object":`+job+"}\n").(*unstructured.Unstructured); u.GetName() != `a}"{` || u.GetGeneration() != 9007199254740993 {
		t.Errorf("%+v", u)
	}
}

// TestUntypedWatchOfAnything: any object is read as the library reads it.
func TestUntypedWatchOfAnything(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`{`, `}`, `"`, `\`, `\"}`, `"}`, "\u2028"}))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{text.AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e9, 1e9).AsAny(), rapid.Bool().AsAny(), rapid.Just(any(nil))}
		if depth > 0 {
			kinds = append(kinds, rapid.MapOfN(text, rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 4).AsAny(),
				rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 4).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		object := rapid.MapOfN(text, value(3), 0, 5).Draw(t, "object")
		if rapid.Bool().Draw(t, "of a group") {
			object["apiVersion"], object["kind"] = "kubeflow.org/v1", "TFJob"
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		sameWatch(t, `{"type":"`+rapid.SampledFrom([]string{"ADDED", "MODIFIED", "DELETED"}).Draw(t, "type")+`","object":`+string(raw)+"}\n")
	})
}

// nested returns an object of so many levels, the object itself being one.
func nested(name string, levels int) string {
	return `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"name":"` + name + `"},"spec":` + strings.Repeat(`[`, levels-1) + strings.Repeat(`]`, levels-1) + `}`
}

// TestShallow: what is not too deep stays as it is, byte for byte, in whatever pieces it arrives; what is too deep
// leaves JSON.
func TestShallow(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "text": `"[[[{{{\"[\\"`, "cut": `{"a":[`, "too many": `]]]]}}{"a":1}`, "two": `{"a":[1,"]"]}` + "\n" + `{"b":{}}`, "as deep as is read": nested("x", deepest),
	} {
		if got := string(Shallow([]byte(text))); got != text {
			t.Errorf("%s: %.100q became %.100q", name, text, got)
		}
	}
	below := `[{"a":"]}\"","b":[[]]},7]`
	deep := strings.Repeat(`[`, deepest) + `1,` + below + `,` + below + `,2` + strings.Repeat(`]`, deepest)
	want := strings.Repeat(`[`, deepest) + `1,0,0,2` + strings.Repeat(`]`, deepest)
	if got := string(Shallow([]byte(deep))); got != want {
		t.Errorf("%d bytes became %d, want %d", len(deep), len(got), len(want))
	}
	for pieces, r := range map[string]io.Reader{"bytes": iotest.OneByteReader(strings.NewReader(deep)), "halves": iotest.HalfReader(strings.NewReader(deep)),
		"the end with data": iotest.DataErrReader(strings.NewReader(deep))} {
		if got, err := io.ReadAll(&shallowReader{ReadCloser: io.NopCloser(r)}); err != nil || string(got) != want {
			t.Errorf("in %s: %d bytes became %d, want %d: %v", pieces, len(deep), len(got), len(want), err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(`[`, rapid.IntRange(deepest-5, deepest).Draw(t, "levels")) + strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{`[`, `]`, `{`, `}`, `"`, `\`, `1`, `,`, `\"`})).Draw(t, "text"), "")
		got := Shallow([]byte(text))
		if len(got) > len(text) {
			t.Fatalf("it grew")
		}
		if json.Valid([]byte(text)) && !json.Valid(got) {
			t.Fatalf("it is no JSON any more")
		}
	})
}

// TestManagedFieldsAreNotRead: they are left out where API servers write them, and nowhere else.
func TestManagedFieldsAreNotRead(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"usual", `{"apiVersion":"v","kind":"K","metadata":{"generation":1,"managedFields":[{"a":"]}"},{"b":{}}],"name":"n"},"spec":{}}`,
			`{"apiVersion":"v","kind":"K","metadata":{"generation":1,"managedFields":null,"name":"n"},"spec":{}}`},
		{"alone", `{"metadata":{"managedFields":[{}]}}`, `{"metadata":{"managedFields":null}}`},
		{"first", `{"metadata":{"managedFields":[],"name":"n"}}`, `{"metadata":{"managedFields":null,"name":"n"}}`},
		{"a number", `{"metadata":{"a":-1.5e3,"managedFields":7}}`, `{"metadata":{"a":-1.5e3,"managedFields":null}}`},
		{"said twice", `{"metadata":{"managedFields":[1],"managedFields":[2]}}`, `{"metadata":{"managedFields":null,"managedFields":[2]}}`},
		{"odd keys", `{"\"":1,"":2,"metadata":{"\\":3,"managedFields":true}}`, `{"\"":1,"":2,"metadata":{"\\":3,"managedFields":null}}`},
		{"elsewhere", `{"managedFields":[1],"spec":{"managedFields":[2]},"metadata":{"labels":{"managedFields":"3"}}}`, ""},
		{"in a text", `{"metadata":"{\"managedFields\":[1]}"}`, ""},
		{"in an array", `{"metadata":["managedFields",[1]]}`, ""},
		{"an array", `["metadata",{"managedFields":[1]}]`, ""},
		{"an empty text", `""`, ""},
		{"spaces", `{ "metadata": {"managedFields":[1]}}`, ""},
		{"written otherwise", `{"metadata":{"managed\u0046ields":[1]}}`, ""},
		{"cut off", `{"metadata":{"managedFields":[1`, ""},
		{"cut off in a key", `{"metad`, ""},
		{"cut off at a colon", `{"metadata"`, ""},
		{"cut off after a colon", `{"metadata":`, ""},
		{"nothing", ``, ""},
	} {
		if c.want == "" {
			c.want = c.data
		}
		data := []byte(c.data)
		if got := string(withoutManagedFields(data)); got != c.want || string(data) != c.data {
			t.Errorf("%s: %s became %s, want %s, and %s", c.name, c.data, got, c.want, data)
		}
	}
}

// TestElements: the elements are as many as a decoder finds, and the same, however they are written.
func TestElements(t *testing.T) {
	for _, text := range []string{`[]`, `[ ]`, "[1]", "[1 , 2\n]", `["],[\"", {"a":[1,2]},[[]] ,null]`, "[\n\t{} ,\r[ ] ]", ``, `[true,false,-1.5e3]`} {
		var want []any
		if text != "" {
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
		}
		var got []any
		for element := range Elements([]byte(text)) {
			var value any
			if err := json.Unmarshal(element, &value); err != nil {
				t.Errorf("%s: %s: %v", text, element, err)
			}
			got = append(got, value)
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		for range Elements([]byte(text)) {
			break // who asks for the first is not asked for more
		}
	}
	tree := rapid.SliceOf(rapid.OneOf(rapid.String().AsAny(), rapid.SliceOf(rapid.Float64()).AsAny(), rapid.MapOf(rapid.String(), rapid.String()).AsAny(), rapid.Int().AsAny()))
	rapid.Check(t, func(t *rapid.T) {
		want := tree.Draw(t, "array")
		data, err := json.MarshalIndent(want, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		all := []json.RawMessage{}
		for element := range Elements(data) {
			all = append(all, json.RawMessage(element))
		}
		if again, err := json.MarshalIndent(all, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent")); err != nil || compact(t, again) != compact(t, data) {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
	})
}

func compact(t *rapid.T, data []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
