package lean

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

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
