package lean

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
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

// TestUntypedInto: an object is read into the one that was given, and so is what only the library reads.
func TestUntypedInto(t *testing.T) {
	for _, body := range []string{`{"apiVersion":"kubeflow.org/v1","kind":"TFJob","spec":{"a":1}}`, `{"apiVersion":"v1","kind":"Status","code":404}`,
		`{"apiVersion":"kubeflow.org/v1","kind":"TFJobList","items":[{"apiVersion":"kubeflow.org/v1","kind":"TFJob"}]}`, `{`} {
		for name, into := range map[string]func() runtime.Object{"none": func() runtime.Object { return nil }, "one": func() runtime.Object { return &unstructured.Unstructured{Object: map[string]any{"old": 1}} },
			"list": func() runtime.Object { return &unstructured.UnstructuredList{} }, "status": func() runtime.Object { return &metav1.Status{} }} {
			read := func(how runtime.NegotiatedSerializer) (same bool, _ runtime.Object, _ string) {
				decoder, err := runtime.NewClientNegotiator(how, runtimeschema.GroupVersion{}).Decoder(runtime.ContentTypeJSON, nil)
				if err != nil {
					t.Fatal(err)
				}
				given := into()
				o, kind, err := decoder.Decode([]byte(body), nil, given)
				return o == given, o, fmt.Sprint(kind, err)
			}
			gotSame, got, gotErr := read(uncopiedJSON(untypedLibrary()))
			wantSame, want, wantErr := read(untypedLibrary())
			if diff := cmp.Diff(want, got); diff != "" || gotSame != wantSame || gotErr != wantErr {
				t.Errorf("%s into %s: the given one: %v, %s; library %v, %s; -library +ours:\n%s", body, name, gotSame, gotErr, wantSame, wantErr, diff)
			}
		}
	}
}

// FuzzUntypedWatch: any input is read as the library reads it.
func FuzzUntypedWatch(f *testing.F) {
	f.Add(`{"type":"ADDED","object":{"apiVersion":"kubeflow.org/v1","kind":"TFJob","a":["\\\"}{",{"b":1}]}}`)
	f.Add(`{"type":"ADDED","object":{},"type":"DELETED"}`)
	f.Add(`{"type":"ADDED","object":{"kind":"TFJob"`)
	f.Add(`{"type":"ADDED","object":{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"a":1,"managedFields":[{"a":"]"}],"name":"b"}}}`)
	f.Fuzz(func(t *testing.T, stream string) {
		if strings.Contains(stream, "managedFields") && !json.Valid([]byte(stream)) {
			t.Skip("what is left out is not checked")
		}
		sameWatch(t, stream)
	})
}

// BenchmarkUntypedWatch compares an event of a job in both ways.
func BenchmarkUntypedWatch(b *testing.B) {
	const events = 100
	stream := []byte(strings.Repeat(`{"type":"MODIFIED","object":`+benchJob()+"}\n", events))
	for name, how := range map[string]runtime.NegotiatedSerializer{"uncopied": uncopiedJSON(untypedLibrary()), "library": untypedLibrary()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decoder := watched(b, runtime.ContentTypeJSON, how, stream)
				for range events {
					if _, _, err := decoder.Decode(); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// benchJob returns a job with two replica types, as it is stored when three clients have written to it.
func benchJob() string {
	managed := `{"f:metadata":{"f:annotations":{".":{},"f:a":{}}},"f:spec":{"f:tfReplicaSpecs":{"f:Worker":{"f:template":{}}}},"f:status":{"f:conditions":{},"f:replicaStatuses":{"f:Worker":{"f:active":{}}}}}`
	return `{"apiVersion":"kubeflow.org/v1","kind":"TFJob","metadata":{"managedFields":[` +
		strings.Repeat(`{"manager":"m","operation":"Update","apiVersion":"kubeflow.org/v1","fieldsV1":`+managed+`},`, 3) + `{}],"name":"bert","namespace":"team","resourceVersion":"1","uid":"u"},` +
		`"spec":{"tfReplicaSpecs":{"PS":` + benchReplicaType + `,"Worker":` + benchReplicaType + `}},` +
		`"status":{"conditions":[` + strings.Repeat(`{"type":"Created","status":"True","reason":"TFJobCreated","message":"TFJob is created.","lastUpdateTime":"2026-01-01T00:00:00Z"},`, 3) + `{}]}}`
}

const benchReplicaType = `{"replicas":4,"restartPolicy":"Never","template":{"metadata":{"annotations":{"a":"b"}},"spec":{"containers":[{"name":"tensorflow","image":"i","command":["python","train.py"],"resources":{"limits":{"cpu":"1"}}}]}}}`
