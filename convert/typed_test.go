package convert

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"stoic/schema"
)

// gadget is a CRD type with a field of every form that CRDs have.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              gadgetSpec   `json:"spec,omitempty"`
	Status            gadgetStatus `json:"status,omitempty"`
}

type gadgetSpec struct {
	Target   string                       `json:"target" stoic:"required,minLength=1,maxLength=10"`
	Type     string                       `json:"type,omitempty" stoic:"enum=Copy;Link"`
	Level    *int32                       `json:"level,omitempty" stoic:"enum=1;2;3"`
	Count    int64                        `json:"count,omitempty" stoic:"min=-5,max=100"`
	Least    *int64                       `json:"least,omitempty" stoic:"min=1"`
	Most     int32                        `json:"most,omitempty" stoic:"max=7"`
	Ratio    *float64                     `json:"ratio,omitempty" stoic:"min=0,max=0.5"`
	Single   float32                      `json:"single,omitempty"`
	On       *bool                        `json:"on,omitempty"`
	Code     string                       `json:"code,omitempty" stoic:"pattern=^[a-z]{2,3}$"`
	Codes    []string                     `json:"codes,omitempty" stoic:"minItems=1,maxItems=3,pattern=^[a-z]{2,3}$"`
	Space    string                       `json:"space,omitempty" stoic:"name=dnsLabel"`
	Map      string                       `json:"map,omitempty" stoic:"name=dnsSubdomain"`
	Labels   map[string]string            `json:"labels,omitempty" stoic:"maxItems=2"`
	Amounts  map[string]resource.Quantity `json:"amounts,omitempty"`
	Port     intstr.IntOrString           `json:"port,omitempty" stoic:"min=1,max=65535"`
	Share    *intstr.IntOrString          `json:"share,omitempty" stoic:"min=0,pattern=^[0-9]{1,2}%$"`
	Selects  *metav1.LabelSelector        `json:"selects,omitempty"`
	At       *metav1.Time                 `json:"at,omitempty"`
	For      *metav1.Duration             `json:"for,omitempty"`
	Raw      *runtime.RawExtension        `json:"raw,omitempty"`
	Bytes    []byte                       `json:"bytes,omitempty"`
	Tree     *gadgetTree                  `json:"tree,omitempty"`
	Tags     []gadgetTag                  `json:"tags,omitempty"`
	Bearable []corev1.Toleration          `json:"tolerations,omitempty"`
	gadgetInline
	*GadgetPointed `json:",inline"`
}

type gadgetTree struct {
	Name     string                 `json:"name,omitempty" stoic:"maxLength=3"`
	Branches []gadgetTree           `json:"branches,omitempty" stoic:"maxItems=4"`
	Named    map[string]*gadgetTree `json:"named,omitempty"`
}

type gadgetTag struct {
	Key   string `json:"key"`
	Value string `json:"value,omitempty"`
}

type gadgetInline struct {
	Inner string `json:"inner,omitempty"`
}

type GadgetPointed struct {
	Pointed string `json:"pointed,omitempty"`
}

type gadgetStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	Counts             map[string]int32   `json:"counts,omitempty"`
	Since              *metav1.Time       `json:"since,omitempty"`
}

func gadgets() schema.Resource {
	return schema.Resource{Group: "example.com", Version: "v1", Plural: "gadgets", Kind: "Gadget"}
}

// gadgetIn returns an object with this spec; more replaces its other fields.
func gadgetIn(spec map[string]any, more ...map[string]any) *unstructured.Unstructured {
	raw := map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "g", "namespace": "n"}, "spec": spec}
	for _, m := range more {
		for key, value := range m {
			raw[key] = value
		}
	}
	return &unstructured.Unstructured{Object: raw}
}

// sentences returns the problems and warnings of an object.
func sentences(r *Result) (all []string) {
	if r.Rejection != nil {
		for _, p := range r.Rejection.Problems {
			all = append(all, p.String())
		}
	}
	for _, p := range r.Warnings {
		all = append(all, "warning: "+p.String())
	}
	return all
}

// TestTypedTells: the messages for values that do not fit their field. Each object has one such field.
func TestTypedTells(t *testing.T) {
	read := Typed[gadget](gadgets(), And[metav1.LabelSelector]((*Reader).Selector), Need[gadgetTag]("key"), And[gadgetTag](func(r *Reader, tag map[string]any) {
		if tag["key"] == tag["value"] {
			r.ProblemIn("value", schema.Conflict, "the key", "be another text", "")
		}
	}))
	tree := func(levels int) map[string]any {
		inner := map[string]any{}
		for range levels {
			inner = map[string]any{"branches": []any{inner}}
		}
		return inner
	}
	for _, c := range []struct {
		field string
		value any
		want  []string
	}{
		{"target", "mine", nil},
		{"target", nil, []string{"spec.target: must be set"}},
		{"target", "", []string{`spec.target: found "", must have at least 1 character`}},
		{"target", "ÄÖÜäöüÄÖÜ!", nil},
		{"target", "12345678901", []string{"spec.target: found a string of 11 characters, must have at most 10 characters"}},
		{"target", int64(4), []string{`spec.target: found number 4, must be a string; quote it: "4"`}},
		{"type", "Link", nil},
		{"type", "link", []string{`spec.type: found "link", must be one of "Copy", "Link"; did you mean "Link"?`}},
		{"type", "", []string{`spec.type: found "", must be one of "Copy", "Link"`}},
		{"type", nil, nil},
		{"level", int64(2), nil},
		{"level", 3.0, nil},
		{"level", int64(4), []string{"spec.level: found number 4, must be one of 1, 2, 3"}},
		{"level", int64(math.MaxInt64), []string{"spec.level: found number 9223372036854775807, must be less than or equal to 2147483647"}},
		{"count", int64(-5), nil},
		{"count", int64(101), []string{"spec.count: found number 101, must be from -5 to 100"}},
		{"count", "3", []string{`spec.count: found string "3", must be an integer; remove the quotes`}},
		{"count", "1.5", []string{`spec.count: found string "1.5", must be an integer`}},
		{"count", 0.5, []string{"spec.count: found number 0.5, must be an integer"}},
		{"count", math.NaN(), []string{"spec.count: found number NaN, must be an integer"}},
		{"count", uint64(math.MaxUint64), []string{"spec.count: found number 18446744073709552000, must be from -5 to 100"}},
		{"count", json.Number("x\n"), []string{"spec.count: found number x , must be an integer"}},
		{"least", int64(0), []string{"spec.least: found number 0, must be greater than or equal to 1"}},
		{"most", int64(8), []string{"spec.most: found number 8, must be less than or equal to 7"}},
		{"ratio", 0.5, nil},
		{"ratio", 0.75, []string{"spec.ratio: found number 0.75, must be less than or equal to 0.5"}},
		{"ratio", int64(-1), []string{"spec.ratio: found number -1, must be greater than or equal to 0"}},
		{"ratio", math.NaN(), []string{"spec.ratio: found number NaN, must be a finite number"}},
		{"ratio", "x", []string{`spec.ratio: found string "x", must be a number`}},
		{"single", 1e300, []string{"spec.single: found number 1e+300, must be a number of 32 bits"}},
		{"on", "yes", []string{`spec.on: found string "yes", must be true or false; write true`}},
		{"code", "de", nil},
		{"code", "", []string{"spec.code: found \"\", must match `^[a-z]{2,3}$`"}},
		{"code", "DEU", []string{"spec.code: found \"DEU\", must match `^[a-z]{2,3}$`"}},
		{"codes", []any{}, []string{"spec.codes: found an empty list, must have at least 1 item"}},
		{"codes", []any{"de", "fr", "it", "en"}, []string{"spec.codes: found a list of 4 items, must have at most 3 items"}},
		{"codes", []any{"de", "F"}, []string{"spec.codes[1]: found \"F\", must match `^[a-z]{2,3}$`"}},
		{"space", "", nil},
		{"space", "team-a", nil},
		{"space", "team.a", []string{`spec.space: found "team.a", must ` + wantLabel + `; did you mean "team-a"?`}},
		{"map", "team.a", nil},
		{"map", "Team_A", []string{`spec.map: found "Team_A", must ` + wantSubdomain + `; did you mean "team-a"?`}},
		{"labels", map[string]any{"a": "", "b": nil}, nil},
		{"labels", map[string]any{"a": "", "b": "", "c": ""}, []string{"spec.labels: found an object of 3 entries, must have at most 2 entries"}},
		{"amounts", map[string]any{"cpu": "5x"}, []string{`spec.amounts.cpu: found "5x", must be a quantity such as "500m" or "2"`}},
		{"port", int64(80), nil},
		{"port", "web", nil},
		{"port", int64(0), []string{"spec.port: found number 0, must be from 1 to 65535"}},
		{"port", 1.5, []string{"spec.port: found number 1.5, must be an integer or a string"}},
		{"port", 1e300, []string{"spec.port: found number 1e+300, must be from 1 to 65535"}},
		{"port", true, []string{"spec.port: found boolean true, must be an integer or a string"}},
		{"share", int64(3), nil},
		{"share", "30%", nil},
		{"share", int64(-1), []string{"spec.share: found number -1, must be greater than or equal to 0"}},
		{"share", "30", []string{"spec.share: found \"30\", must match `^[0-9]{1,2}%$`"}},
		{"share", "", []string{"spec.share: found \"\", must match `^[0-9]{1,2}%$`"}},
		{"selects", map[string]any{"matchLabels": map[string]any{"a": "b", "c/d": ""}}, nil},
		{"selects", map[string]any{"matchLabels": map[string]any{"a": "b c"}},
			[]string{`spec.selects.matchLabels.a: found "b c", must be at most 63 letters, digits, "-", "_" and ".", and start and end with a letter or digit`}},
		{"selects", map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "in", "values": []any{"b"}}}},
			[]string{`spec.selects.matchExpressions[0].operator: found "in", must be one of "In", "NotIn", "Exists", "DoesNotExist"; did you mean "In"?`}},
		{"at", "noon", []string{`spec.at: found string "noon", must be a time such as "2006-01-02T15:04:05Z"`}},
		{"for", "1 day", []string{`spec.for: found string "1 day", must be a duration such as "1h30m"`}},
		{"raw", map[string]any{"any": []any{"thing", int64(1)}}, nil},
		{"raw", map[string]any{"any": math.NaN()}, []string{"spec.raw.any: found number NaN, must be a value that JSON knows"}},
		{"bytes", "%", []string{`spec.bytes: found string "%", must be base64`}},
		{"bytes", int64(1), []string{`spec.bytes: found number 1, must be a string; quote it: "1"`}},
		{"raw", func() {}, []string{"spec.raw: found something that is not JSON, must be a value that JSON knows"}},
		{"tree", map[string]any{"branches": []any{map[string]any{"named": map[string]any{"x": map[string]any{"name": "long"}}}}},
			[]string{"spec.tree.branches[0].named.x.name: found a string of 4 characters, must have at most 3 characters"}},
		{"tree", map[string]any{"named": map[string]any{"x": nil}}, []string{"spec.tree.named.x: found null, must be an object"}},
		{"tree", tree(100), nil},
		{"tags", []any{map[string]any{"value": "v"}}, []string{"spec.tags[0].key: must be set"}},
		{"tags", []any{map[string]any{"key": "v", "value": "v"}}, []string{"spec.tags[0].value: found the key, must be another text"}},
		{"tolerations", []any{map[string]any{"operator": "Exists", "value": "x"}},
			[]string{"spec.tolerations[0].value: found `value` beside `operator: Exists`, must be left out; or write `operator: Equal`"}},
		{"inner", "i", nil},
		{"pointed", "p", nil},
		{"pointed", true, []string{`spec.pointed: found boolean true, must be a string; quote it: "true"`}},
		{"tagret", "x", []string{"warning: spec.tagret: unknown field; did you mean `target`?"}},
		{"metadata", "x", []string{"warning: spec.metadata: unknown field"}},
	} {
		spec := map[string]any{"target": "mine"}
		spec[c.field] = c.value
		if diff := cmp.Diff(c.want, sentences(read(gadgetIn(spec)))); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.field, c.value, diff)
		}
	}
}

// TestTypedWhole: the constraints on an object outside of its spec.
func TestTypedWhole(t *testing.T) {
	read := Typed[gadget](gadgets())
	good := map[string]any{"target": "mine"}
	for _, c := range []struct {
		name string
		more map[string]any
		want []string
	}{
		{"no spec", map[string]any{"spec": nil}, []string{"spec.target: must be set"}},
		{"a spec of another type", map[string]any{"spec": "x"}, []string{`spec: found string "x", must be an object`}},
		{"a misspelt spec", map[string]any{"spec": nil, "spce": good}, []string{"spec.target: must be set", "warning: spce: unknown field; did you mean `spec`?"}},
		{"another kind", map[string]any{"kind": "Widget"}, []string{`kind: found "Widget", must be "Gadget"`}},
		{"an old version", map[string]any{"apiVersion": "example.com/v1beta1"}, []string{`apiVersion: found "example.com/v1beta1", must be "example.com/v1"; that version is no longer served`}},
		{"no name", map[string]any{"metadata": nil}, []string{"metadata.name: must be set"}},
		{"metadata of another type", map[string]any{"metadata": []any{}}, []string{"metadata: found a list, must be an object"}},
		{"a namespace of another type", map[string]any{"metadata": map[string]any{"name": "g", "namespace": int64(7)}}, []string{`metadata.namespace: found number 7, must be a string; quote it: "7"`}},
		{"labels of another type", map[string]any{"metadata": map[string]any{"name": "g", "labels": "x"}}, nil},
		{"any status", map[string]any{"status": []any{"x", nil}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, sentences(read(gadgetIn(good, c.more)))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTypedHead: everything that the engine needs to hold a rejected object is read.
func TestTypedHead(t *testing.T) {
	u := gadgetIn(nil, map[string]any{
		"spec": int64(1), "kind": nil,
		"metadata": map[string]any{"name": "g", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": int64(3), "labels": int64(1),
			"finalizers": []any{"a/b", int64(1), nil, "c/d"}, "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "odd", "annotations": []any{}},
		"status": map[string]any{"observedGeneration": int64(2), "phase": int64(1), "since": "never", "new": true,
			"counts":     map[string]any{"a": int64(1), "b": "2", "c": nil},
			"conditions": []any{"x", map[string]any{"type": "Ready", "status": true, "reason": "R"}, nil, map[string]any{"type": "Done", "lastTransitionTime": "odd"}}},
	})
	got := Typed[gadget](gadgets())(u)
	deleted := metav1.Unix(0, 0)
	want := &schema.Head{Resource: gadgets(), ObservedGeneration: 2, Begun: true, StatusUnfit: true,
		Meta: metav1.ObjectMeta{Name: "g", Namespace: "n", UID: "u", ResourceVersion: "7", Generation: 3, Finalizers: []string{"a/b", "c/d"},
			CreationTimestamp: metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), DeletionTimestamp: &deleted},
		Status: &gadgetStatus{ObservedGeneration: 2, Counts: map[string]int32{"a": 1}, Conditions: []metav1.Condition{{Type: "Ready", Reason: "R"}, {Type: "Done"}}}}
	if diff := cmp.Diff(want, got.Head); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Rejection == nil || got.Object != nil {
		t.Errorf("%+v", got)
	}
	for _, u := range []*unstructured.Unstructured{nil, {}, gadgetIn(map[string]any{"target": "x"}, map[string]any{"status": map[string]any{}})} {
		if got := Typed[gadget](gadgets())(u); got.Begun || got.StatusUnfit || !cmp.Equal(got.Status, any(&gadgetStatus{})) || got.ObservedGeneration != 0 {
			t.Errorf("%+v", got.Head)
		}
	}
}

// nullStruct has a MarshalJSON that writes null.
type nullStruct struct{}

func (nullStruct) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// TestNullInAStatus: a null in a required field makes the status unfit, unless encoding/json writes the zero value of the field as null.
func TestNullInAStatus(t *testing.T) {
	type inner struct{}
	type status struct {
		Text    string             `json:"text" stoic:"required"`
		Number  int32              `json:"number" stoic:"required"`
		Yes     bool               `json:"yes" stoic:"required"`
		Inner   inner              `json:"inner" stoic:"required"`
		Amount  resource.Quantity  `json:"amount" stoic:"required"`
		Port    intstr.IntOrString `json:"port" stoic:"required"`
		Took    metav1.Duration    `json:"took" stoic:"required"`
		Since   metav1.Time        `json:"since" stoic:"required"`
		Precise metav1.MicroTime   `json:"precise" stoic:"required"`
		Pointer *string            `json:"pointer" stoic:"required"`
		List    []string           `json:"list" stoic:"required"`
		Bytes   []byte             `json:"bytes" stoic:"required"`
		Map     map[string]string  `json:"map" stoic:"required"`
		Any     any                `json:"any" stoic:"required"`
		Raw     json.RawMessage    `json:"raw" stoic:"required"`
		Struct  nullStruct         `json:"struct" stoic:"required"`
	}
	var empty map[string]any
	if err := json.Unmarshal(schema.JSON(status{}), &empty); err != nil {
		t.Fatal(err)
	}
	shape := shapeOf(reflect.TypeFor[status]())
	unfit := func(raw map[string]any) bool {
		return new(Reader).readLeniently(shape, raw, reflect.New(reflect.TypeFor[status]()).Elem())
	}
	if len(empty) != 16 || unfit(empty) {
		t.Errorf("a status with nothing in it is unfit: %v", empty)
	}
	for field, written := range empty {
		raw := maps.Clone(empty)
		raw[field] = nil
		if got, want := unfit(raw), written != nil; got != want {
			t.Errorf("%s is null, and written as %v: unfit %t", field, written, got)
		}
	}
}

// bare has no status, and another field outside of its spec.
type bare struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              *struct{} `json:"spec" stoic:"required"`
	Data              []string  `json:"data" stoic:"required"`
}

func TestTypedBare(t *testing.T) {
	read := Typed[bare](gadgets())
	if diff := cmp.Diff([]string{"data: must be set", "spec: must be set"}, sentences(read(gadgetIn(nil, map[string]any{"spec": nil, "status": map[string]any{"a": "b"}})))); diff != "" {
		t.Error(diff)
	}
	got := read(gadgetIn(map[string]any{}, map[string]any{"data": []any{"a"}}))
	want := &bare{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Gadget"}, ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "n"},
		Spec: &struct{}{}, Data: []string{"a"}}
	if diff := cmp.Diff(want, got.Object); diff != "" || got.Status != nil {
		t.Errorf("status %v, object (-want +got):\n%s", got.Status, diff)
	}
}

// TestMaxName: a name that is too long is a further problem, and a limit of 0 is none.
func TestMaxName(t *testing.T) {
	for name, test := range map[string]struct {
		most int
		want []string
	}{
		"fits":     {4, nil},
		"too long": {3, []string{`metadata.name: found "name" of 4 characters, must have at most 3; its Jobs have it, too`}},
		"no limit": {0, nil},
	} {
		u := gadgetIn(map[string]any{"target": "a"})
		u.SetName("name")
		got := Typed[gadget](gadgets(), MaxName(test.most, "its Jobs have it, too"))(u)
		if diff := cmp.Diff(test.want, sentences(got)); diff != "" || (got.Rejection == nil) != (test.want == nil) {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	u := gadgetIn(map[string]any{})
	u.SetName("name")
	if got := Typed[gadget](gadgets(), MaxName(3, "x"))(u); len(got.Rejection.Problems) != 2 {
		t.Errorf("beside another problem: %v", sentences(got))
	}
}

// TestConditionOf: the condition of a type is found among others, however malformed they are.
func TestConditionOf(t *testing.T) {
	status := func(status any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": status}}
	}
	all := []any{int64(1), nil, map[string]any{"type": []any{"Failed"}}, map[string]any{"type": "Ready", "status": true},
		map[string]any{"type": "Complete", "status": "True", "reason": "Done\n", "message": int64(4), "observedGeneration": int64(3), "lastTransitionTime": "2026-01-02T03:04:05Z"}}
	u := status(map[string]any{"conditions": all})
	want := metav1.Condition{Type: "Complete", Status: "True", Reason: "Done ", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}
	if diff := cmp.Diff(want, ConditionOf(u, "Complete")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ConditionOf(u, "Ready"); got.Type != "Ready" || got.Status != "" {
		t.Errorf("a status that is no text: %v", got)
	}
	if got := FirstTrue(u, "Failed", "Ready", "Complete"); got.Type != "Complete" {
		t.Errorf("the first that is True: %v", got)
	}
	for _, odd := range []any{nil, int64(7), "text", []any{}, map[string]any{"conditions": "none"}} {
		if got := FirstTrue(status(odd), "Complete"); got != (metav1.Condition{}) {
			t.Errorf("%v: %v", odd, got)
		}
	}
}
