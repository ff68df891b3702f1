package lean

import (
	"encoding/json"
	"fmt"
	"testing"

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
