package versions

import (
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"stoic/test/golden"
	"stoic/test/untyped"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden: the results of converting the objects in NAME-to-VERSION.yaml.
func TestGolden(t *testing.T) {
	c := converterOf(t, gadgets())
	cases := golden.Run(t, "testdata/*.txtar", *update, func(t *testing.T, archive map[string][]byte, name string) string {
		object := untyped.Parse(t, archive[name+".yaml"]).Object
		to := name[strings.LastIndex(name, "-")+1:]
		r := convertBy(t, c, object, to)
		if r.Outcome != NotKept {
			thereAndBack(t, c, object, to)
		}
		return describe(t, r)
	})
	if cases < 15 {
		t.Errorf("%d cases", cases)
	}
}

func describe(t *testing.T, r Result) string {
	t.Helper()
	text, err := yaml.Marshal(r.Object)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s", r.Outcome)
	if r.Why != "" {
		fmt.Fprintf(&b, ": %s", r.Why)
	}
	if len(r.Lost) > 0 {
		fmt.Fprintf(&b, "; lost %s", strings.Join(r.Lost, ", "))
	}
	if len(r.Filled) > 0 {
		fmt.Fprintf(&b, "; filled %s", strings.Join(r.Filled, ", "))
	}
	return b.String() + "\n" + string(text)
}

func gadget(version, rest string) map[string]any {
	var object map[string]any
	if err := yaml.Unmarshal([]byte("apiVersion: example.com/"+version+"\nkind: Gadget\nmetadata: {name: a}\n"+rest), &object); err != nil {
		panic(err)
	}
	return object
}

// TestEditedBetween: an edit in the other version counts.
func TestEditedBetween(t *testing.T) {
	c := converterOf(t, gadgets())
	for name, test := range map[string]struct {
		from, by, spec string
		edit           func(spec map[string]any)
		want           string
	}{
		"a default that was written out is changed":  {"v1beta1", "v1", "{}", set("policy", map[string]any{"clean": "All"}), `{"clean":"All"}`},
		"a default that was written out is removed":  {"v1beta1", "v1", "{}", set("policy", nil), `{"clean":"None"}`},
		"the same value as the default":              {"v1", "v1beta1", "{}", set("clean", "None"), `{}`},
		"another field beside what was kept":         {"v1", "v1beta1", "{policy: {suspend: true}}", set("ttl", int64(5)), `{"policy":{"suspend":true,"ttl":5}}`},
		"a default, and what was kept is still kept": {"v1", "v1beta1", "{policy: {suspend: true}}", set("clean", "All"), `{"policy":{"clean":"All","suspend":true}}`},
		"what counts instead is overruled":           {"v1", "v2beta1", "{clean: All}", set("policy", map[string]any{"clean": "Running"}), `{"clean":"All","policy":{"clean":"Running"}}`},
		"what counts instead is taken away":          {"v1", "v2beta1", "{clean: All}", set("policy", map[string]any{}), `{"policy":{}}`},
		"what counts instead, and a field beside it": {"v1", "v2beta1", "{clean: All}", set("policy", map[string]any{"clean": "All", "x": int64(1)}), `{"clean":"All","policy":{"x":1}}`},
		"the place of what was kept is taken":        {"v2beta1", "v1", "{ssh: {path: /a}}", set("ssh", "text"), `{"ssh":"text"}`},
		"what held what was kept is gone":            {"v2beta1", "v1", "{ssh: {path: /a}}", set("ssh", nil), `{}`},
	} {
		there := convertBy(t, c, gadget(test.from, "spec: "+test.spec), test.by)
		test.edit(there.Object["spec"].(map[string]any))
		back := convertBy(t, c, there.Object, test.from)
		if diff := cmp.Diff(test.want, jsonOf(back.Object["spec"])); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// set returns a function that sets a field of a spec, or removes it.
func set(name string, value any) func(map[string]any) {
	return func(spec map[string]any) {
		if spec[name] = value; value == nil {
			delete(spec, name)
		}
	}
}

// TestNotKept: an API server validates all annotations if one changes. If it would refuse them, they stay unchanged.
func TestNotKept(t *testing.T) {
	c := converterOf(t, gadgets())
	for name, test := range map[string]struct {
		annotations map[string]any
		why         string
	}{
		"an old key that is no longer valid": {map[string]any{"not a key": "x"}, "name part must consist of alphanumeric"},
		"too much already":                   {map[string]any{"a": strings.Repeat("x", 256<<10-100)}, "Too long"},
		"no string":                          {map[string]any{"a": int64(1)}, `the annotation "a" is not a string`},
		"a bad key beside one of ours":       {map[string]any{"not a key": "x", key: `{"v9":{}}`}, "name part must consist of"},
	} {
		object := gadget("v2beta1", "spec: {implementation: "+strings.Repeat("i", 200)+"}")
		object["metadata"].(map[string]any)["annotations"] = test.annotations
		r := convertBy(t, c, object, "v1")
		after := r.Object["metadata"].(map[string]any)["annotations"]
		if r.Outcome != NotKept || !strings.Contains(r.Why, test.why) || !cmp.Equal(r.Lost, []string{"spec.implementation"}) || !cmp.Equal(after, any(test.annotations)) {
			t.Errorf("%s: %s, %s, lost %v, annotations %.100v", name, r.Outcome, r.Why, r.Lost, after)
		}
		if spec := r.Object["spec"].(map[string]any); len(spec) > 0 {
			t.Errorf("%s: %v", name, spec)
		}
		plain := gadget("v2beta1", "spec: {size: 3}")
		plain["metadata"].(map[string]any)["annotations"] = maps.Clone(test.annotations)
		if r := convertBy(t, c, plain, "v1"); r.Outcome != Converted || !cmp.Equal(r.Object["metadata"], plain["metadata"]) {
			t.Errorf("%s: nothing to keep, and %s: %s", name, r.Outcome, r.Why)
		}
	}
}

// TestDeep: an object that would be too deep for decoders of JSON after a move passes through, both ways.
func TestDeep(t *testing.T) {
	c := converterOf(t, gadgets())
	for _, field := range []string{"clean", "policy"} {
		most := deepest - map[string]int{"clean": 3, "policy": 2}[field] // the longer of its places
		for levels, want := range map[int]Outcome{most: Converted, most + 1: PassedThrough} {
			object := gadget("v1beta1", "")
			object["spec"] = map[string]any{field: untyped.Nested(levels)}
			if r := convertBy(t, c, object, "v1"); r.Outcome != want {
				t.Errorf("%s of %d levels: %s", field, levels, r.Outcome)
			}
			thereAndBack(t, c, object, "v1")
		}
	}
}

// TestDeepRecord: content in an edited annotation that is deeper than any conversion writes is not given back. Content as deep as a
// conversion writes is.
func TestDeepRecord(t *testing.T) {
	c := converterOf(t, gadgets())
	for levels, given := range map[int]bool{deepest - 2: true, deepest - 1: false, 9_996: false} {
		object := gadget("v1beta1", "spec: {x: 1}")
		record := `{"v1":{"lost":{"spec":{"success":` + jsonOf(untyped.Nested(levels)) + `}}}}`
		object["metadata"].(map[string]any)["annotations"] = map[string]any{key: record}
		r := convertBy(t, c, object, "v1")
		if _, is := r.Object["spec"].(map[string]any)["success"]; is != given || r.Outcome != Converted || deeper(r.Object, deepest) {
			t.Errorf("%d levels: given back %v, %s", levels, is, r.Outcome)
		}
	}
	if text := `{"v1":{"lost":{"spec":{"success":"` + strings.Repeat("x", 300_000) + `"}}}}`; read(text) != nil {
		t.Error("an annotation that is larger than an API server takes is read")
	}
}

// TestPanic: after a panic of the converter only apiVersion has changed.
func TestPanic(t *testing.T) {
	c := converterOf(t, gadgets())
	for _, s := range c.steps {
		s.fields = append(s.fields, move{}) // a place has one key at least
	}
	object := gadget("v1beta1", "spec: {clean: All, policy: {x: 1}}")
	before := jsonOf(object)
	r, err := c.Convert(object, "v1")
	if err != nil || r.Outcome != Panicked || !strings.Contains(r.Why, "out of range") || len(r.Stack) == 0 {
		t.Errorf("%v, %s: %s", err, r.Outcome, r.Why)
	}
	if want := strings.Replace(before, "example.com/v1beta1", "example.com/v1", 1); jsonOf(r.Object) != want || jsonOf(object) != before {
		t.Errorf("got %s, of %s", jsonOf(r.Object), jsonOf(object))
	}
}

func TestForeignObjects(t *testing.T) {
	c := converterOf(t, gadgets())
	for name, test := range map[string]struct {
		object   map[string]any
		to, want string
	}{
		"another kind":       {map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}, "v1", `found apiVersion "example.com/v1" and kind "Widget", must be an object of kind Gadget of group example.com`},
		"another group":      {map[string]any{"apiVersion": "apps/v1", "kind": "Gadget"}, "v1", `found apiVersion "apps/v1"`},
		"no group":           {map[string]any{"apiVersion": "v1", "kind": "Gadget"}, "v1", `found apiVersion "v1"`},
		"nothing":            {nil, "v1", `found apiVersion "" and kind ""`},
		"odd":                {map[string]any{"apiVersion": 1, "kind": []any{}}, "v1", `found apiVersion ""`},
		"an unknown version": {gadget("v7", ""), "v1", `found version "v7" of Gadget, must be one of v1, v1beta1, v2beta1, v3alpha1`},
		"to an unknown one":  {gadget("v1", ""), "v7", `found version "v7"`},
	} {
		if r, err := c.Convert(test.object, test.to); err == nil || !strings.HasPrefix(err.Error(), test.want) || r.Object != nil {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// FuzzConvert checks the law for any JSON.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"a"},"spec":{"clean":"All","ttl":3,"policy":{"suspend":true}},"status":{"states":{}}}`,
		`{"metadata":{"annotations":{"example.com/conversion":"{\"v1\":{\"lost\":{\"spec\":{\"policy\":{\"ttl\":1}}},\"filled\":{\"spec.clean\":\"None\"}}}"}},"spec":{"clean":"None"}}`,
		`{"metadata":{},"spec":"text","status":7}`,
		`{"metadata":[],"spec":null}`,
		`{"metadata":{"annotations":null},"spec":{"roles":{"Launcher":{"restart":""}},"ssh":{"path":null},"clean":"x"}}`,
		`{"metadata":{"annotations":{"a":7}},"spec":{"a":1,"b":1e400}}`,
		`{"metadata":{},"spec":{"mode":{"name":{"name":1}},"size":0.0}}`,
		"{",
	} {
		for n := range 16 {
			f.Add([]byte(seed), uint8(n))
		}
	}
	c := converterOf(f, gadgets())
	f.Fuzz(func(t *testing.T, data []byte, versions uint8) {
		var object map[string]any
		if json.Unmarshal(data, &object) != nil || object == nil {
			return
		}
		all := c.Versions()
		object["apiVersion"], object["kind"] = "example.com/"+all[versions%4], "Gadget"
		thereAndBack(t, c, object, all[versions/4%4])
	})
}

// TestKeeps: an annotation that is no record, or has nothing of the version, keeps nothing.
func TestKeeps(t *testing.T) {
	for annotation, want := range map[string]bool{
		"": false, "{": false, "7": false, `{"v2":7}`: false, `{"v2":{}}`: false, `{"v2":{"lost":{}}}`: false, `{"v1":{"lost":{"spec":1}}}`: false,
		`{"v2":{"lost":{"spec":1}}}`: true, `{"v2":{"filled":{"spec.a":1}}}`: true, `{"v2":{"lost":7,"filled":{"spec.a":1}}}`: true,
	} {
		if got := Keeps(annotation, "v2"); got != want {
			t.Errorf("%s: %t", annotation, got)
		}
	}
}
