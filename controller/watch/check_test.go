package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/internal/lean"
	"stoic/schema"
)

// TestCheck: a watch that cannot work is an error when the program starts.
func TestCheck(t *testing.T) {
	foos := schema.Resource{Group: "g", Version: "v1", Plural: "foos", Kind: "Foo"}
	pods := &Owned{Resource: schema.Pods()}
	sound := func() Watch {
		return Watch{Resource: foos, Convert: func(*unstructured.Unstructured) *convert.Result { return nil }, Decide: func(schema.Observed) schema.Plan { return schema.Plan{} }}
	}
	for name, c := range map[string]struct {
		change func(*Watch)
		want   string
	}{
		"sound":                {func(w *Watch) { w.Owns = []*Owned{pods, {Resource: schema.Jobs(), Selector: "a in (b)"}} }, ""},
		"no version":           {func(w *Watch) { w.Resource.Version = "" }, "found resource {Group:g Version: Plural:foos Kind:Foo Cluster:false}, must have a version, a plural and a kind"},
		"no converter":         {func(w *Watch) { w.Convert = nil }, "the watch of foos: Convert is nil, must be a function, such as convert.Typed returns"},
		"no decision":          {func(w *Watch) { w.Decide = nil }, "the watch of foos: Decide is nil, must be a function"},
		"nil among owned":      {func(w *Watch) { w.Owns = []*Owned{nil} }, "the watch of foos: Owns[0] is nil"},
		"nil among read":       {func(w *Watch) { w.Reads = []*Read{nil} }, "the watch of foos: Reads[0] is nil"},
		"owned without a name": {func(w *Watch) { w.Owns = []*Owned{{}} }, "the watch of foos: Owns[0]: found resource {Group: Version: Plural: Kind: Cluster:false}, must have a version, a plural and a kind"},
		"a selector":           {func(w *Watch) { w.Owns = []*Owned{{Resource: schema.Jobs(), Selector: "a in (b"}} }, `the watch of foos: Owns[0]: selector "a in (b": unable to parse requirement: found '', expected: ',' or ')'`},
		"a selector of a read": {func(w *Watch) { w.Reads = []*Read{{Resource: schema.Jobs(), Selector: "!"}} }, `the watch of foos: Reads[0]: selector "!": unable to parse requirement: found '', expected: identifier`},
		"owned twice":          {func(w *Watch) { w.Owns = []*Owned{pods, {Resource: schema.Pods(), Selector: "a"}} }, "the watch of foos: Owns[1]: pods a second time; Observed.Of would not show them"},
		"typed, of another kind": {func(w *Watch) {
			w.Owns = []*Owned{{Resource: schema.Jobs(), SlimTyped: func(*lean.Object) any { return nil }}}
		}, "the watch of foos: Owns[0]: SlimTyped is for pods and services, found jobs: use Slim"},
	} {
		w := sound()
		c.change(&w)
		got := ""
		if err := CheckAll([]Watch{w}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	if err := CheckAll([]Watch{sound(), sound()}); err == nil || err.Error() != "the watch of foos stands there twice" {
		t.Errorf("the same twice: %v", err)
	}
}

// TestSlimJob: malformed fields are left out.
func TestSlimJob(t *testing.T) {
	for text, want := range map[string]Job{
		`{}`: {},
		`{spec: {parallelism: 0, completions: 3, suspend: true}}`:                                                                                                       {Suspended: true, Completions: 3},
		`{spec: {parallelism: 2, completions: 2}, status: {conditions: [{type: SuccessCriteriaMet, status: "True"}]}}`:                                                  {Parallelism: 2, Completions: 2},
		`{status: {conditions: [{type: Complete, status: "True", lastTransitionTime: "1970-01-01T00:01:00Z"}]}}`:                                                        {Result: "Complete", Ended: 60},
		`{status: {conditions: [{type: Suspended, status: "False"}, {type: FailureTarget, status: "True"}, {type: Failed, status: "True", lastTransitionTime: soon}]}}`: {Result: "Failed"},
		`{status: {conditions: [{type: Complete, status: "False"}]}}`:                                                                                                   {},
		`{spec: 7, status: {conditions: [1, null, {type: 7, status: "True"}]}}`:                                                                                         {},
		`{spec: {parallelism: two, completions: 1.5, suspend: 1}, status: [x]}`:                                                                                         {},
	} {
		data, err := yaml.YAMLToJSON([]byte(text))
		u := &unstructured.Unstructured{}
		if err == nil {
			err = json.Unmarshal(data, &u.Object)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, SlimJob(u)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
