package malformed

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/schema"
	"stoic/test/faults/mutation"
	"stoic/test/faults/scenario"
)

// thing returns a kind with one field.
func thing(t *testing.T) *kind {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(`{metadata: {name: things.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true,
  schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {target: {type: string}}},
  status: {type: object, properties: {observedGeneration: {type: integer}, conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}}}]}}`), crd); err != nil {
		t.Fatal(err)
	}
	schemas, err := convert.Structural(crd)
	if err != nil {
		t.Fatal(err)
	}
	return &kind{Kind: scenario.Kind{Name: "Thing"}, name: "things", shipped: crd.Spec.Versions[0].Schema.OpenAPIV3Schema, strict: schemas[0], healthy: []healthy{{state: "Ready", versions: 4, events: 2}}}
}

// shown returns what a cluster shows of an object, in YAML, with events "Warning path message".
func shown(t *testing.T, status string, events ...string) seen {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	text, err := yaml.YAMLToJSON([]byte("{apiVersion: example.com/v1, kind: Thing, metadata: {name: t}, status: " + status + "}"))
	if err == nil {
		err = json.Unmarshal(text, &u.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := seen{object: u, versions: 3, events: map[types.UID]sentence{}}
	for _, e := range events {
		words := strings.SplitN(e, " ", 3)
		s.events[types.UID(e)] = sentence{kind: words[0], path: words[1], message: words[2], count: 1}
	}
	return s
}

const (
	ready    = `{observedGeneration: 2, conditions: [{type: Stalled, status: "False"}, {type: Ready, status: "True"}]}`
	rejected = `{observedGeneration: 2, conditions: [{type: Stalled, status: "True", message: "spec.target: found 7, must be a string"}]}`
	reported = "Warning spec.target spec.target: found 7, must be a string"
)

// said returns an object with this path in the converter's result; "" means no error.
func said(t *testing.T, path string, m mutation.Mutation) *object {
	t.Helper()
	o := &object{kind: thing(t), choice: choice{0, m}, generation: 2, valid: map[string]any{"spec": map[string]any{"target": "a"}}, said: &convert.Result{Head: &schema.Head{}}}
	if path != "" {
		o.said.Rejection = &schema.Rejection{Problems: []schema.Problem{{Path: path, Found: "7", Want: "be a string"}}}
	}
	return o
}

func TestEnded(t *testing.T) {
	target := mutation.Mutation{Path: mutation.Path{"spec", "target"}}
	many := said(t, "spec.target", target)
	many.said.Rejection.More = 3
	odd := said(t, "", target)
	odd.said.Warnings = []schema.Problem{{Path: "spec.targett"}}
	gone := shown(t, ready)
	gone.gone = true
	for name, test := range map[string]struct {
		o    *object
		s    seen
		want string
	}{
		"served":                    {said(t, "", target), shown(t, ready), ""},
		"rejected":                  {said(t, "spec.target", target), shown(t, rejected, reported), ""},
		"never seen":                {said(t, "", target), seen{}, "no watch"},
		"gone":                      {said(t, "", target), gone, "gone"},
		"silent":                    {said(t, "", target), shown(t, `{}`), "its status is about generation 0"},
		"the status is a text":      {said(t, "", target), shown(t, `x`), "its status is about generation 0"},
		"an older spec":             {said(t, "", target), shown(t, `{observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`), "generation 1, not 2"},
		"no condition":              {said(t, "", target), shown(t, `{observedGeneration: 2}`), "no condition"},
		"served though rejected":    {said(t, "spec.target", target), shown(t, ready, reported), "Stalled is True: false"},
		"rejected though sound":     {said(t, "", target), shown(t, rejected, reported), "Stalled is True: true"},
		"without an event":          {said(t, "spec.target", target), shown(t, rejected), "no event tells of spec.target"},
		"an event of another path":  {said(t, "spec.target", target), shown(t, rejected, "Warning spec.other x"), "no event tells of spec.target"},
		"not how many more":         {many, shown(t, rejected, reported), "no event tells of 3 more"},
		"how many more":             {many, shown(t, rejected, reported, "Warning  ... and 3 more problems"), ""},
		"a warning that is no word": {odd, shown(t, ready), "no event tells of spec.targett"},
		"a warning":                 {odd, shown(t, ready, "Warning spec.targett unknown"), ""},
	} {
		if ok, missing := test.o.ended(test.s); ok != (test.want == "") || !strings.Contains(missing, test.want) {
			t.Errorf("%s: %v, %q; want %q", name, ok, missing, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	target := mutation.Mutation{Path: mutation.Path{"spec", "target"}, Contradicts: true}
	sound := mutation.Mutation{Path: mutation.Path{"spec", "target"}}
	panics := said(t, "", sound)
	panics.said.Panic = &convert.Panic{Cause: "nil map"}
	// foreign is an object into whose status a mutation has put a field that the schema does not declare.
	foreign := said(t, "", mutation.Mutation{Path: mutation.Path{"status"}, Part: mutation.Status})
	foreign.foreign = foreign.unknown(shown(t, `{SINCE: a, conditions: [{type: Ready, status: "True"}]}`).object)
	often := shown(t, ready)
	often.versions = 99
	for name, test := range map[string]struct {
		o    *object
		s    seen
		want string
	}{
		"served":                       {said(t, "", sound), shown(t, ready), ""},
		"rejected":                     {said(t, "spec.target", target), shown(t, rejected, reported), ""},
		"the converter panics":         {panics, shown(t, ready), "the converter panics: nil map"},
		"another path":                 {said(t, "spec.other", sound), shown(t, rejected, "Warning spec.other x"), "rejected for what was not changed"},
		"a wrong type is served":       {said(t, "", target), shown(t, ready), "of no type that the schema allows"},
		"a wrong type is elsewhere":    {said(t, "spec.target", target), shown(t, rejected, "Warning spec x"), "of no type that the schema allows"},
		"nobody acts":                  {said(t, "", sound), shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}`), "neither rejected nor acted on"},
		"nobody can act, and it says":  {said(t, "", sound), shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}`, "Warning  refused"), ""},
		"written too often":            {said(t, "", sound), often, "99 versions, at most 14"},
		"a status that is not allowed": {said(t, "", sound), shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}], left: 1}`), "status.left"},
		"a mutation's field stays":     {foreign, shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}], SINCE: a}`), ""},
		"an unknown one beside it":     {foreign, shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}], SINCE: a, SINC: a}`), "status.SINC"},
		"a status of another type":     {said(t, "", sound), shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "True"}, 7]}`), "status.conditions[1]"},
		"an odd message":               {said(t, "", sound), shown(t, ready, "Normal  a\u202eb"), "characters that confuse"},
		"an odd condition":             {said(t, "", sound), shown(t, `{observedGeneration: 2, conditions: [{type: Ready, status: "True", message: "a\u001bb"}]}`), "characters that confuse"},
		"a Role that is not known yet": {said(t, "", mutation.None()), shown(t, ready, `Warning  Error creating: create RoleBinding x: rolebindings.rbac.authorization.k8s.io "x" not found`), ""},
		"a warning for nothing":        {said(t, "", mutation.None()), shown(t, ready, "Warning  x"), "its author is warned"},
	} {
		got := strings.Join(test.o.judge(test.s), "; ")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	times := shown(t, ready, "Normal  x")
	for uid, e := range times.events {
		e.count = 40
		times.events[uid] = e
	}
	if got := said(t, "", sound).judge(times); len(got) != 1 || !strings.Contains(got[0], "40 events, at most 17") {
		t.Errorf("told too often: %v", got)
	}
}
