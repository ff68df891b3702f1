package mutation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// fooBar returns a valid object with a status.
func fooBar(t *testing.T) map[string]any {
	return parsed(t, `{metadata: {name: f}, spec: {target: a, ports: [1, 2], limits: {cpu: "1"}}, status: {conditions: [{type: Ready, status: "True"}]}}`)
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func schemaOf(t *testing.T, text string) *Schema {
	t.Helper()
	s := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

const strict = `{type: object, properties: {spec: {type: object, properties: {
  target: {type: string}, mode: {type: string}, ports: {type: array, items: {type: integer}},
  limits: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}}}}}`

func text(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// TestAll: names are unique, every mutation changes the object, and the valid object is not changed.
func TestAll(t *testing.T) {
	object := fooBar(t)
	before := text(t, object)
	all := All(object, schemaOf(t, strict))
	names, parts := map[string]bool{}, map[Part]int{}
	for _, m := range all {
		if names[m.Name()] {
			t.Errorf("twice: %s", m.Name())
		}
		names[m.Name()] = true
		parts[m.Part]++
		if after, err := json.Marshal(m.Apply(object)); err == nil && string(after) == before { // a value that is not JSON is another, too
			t.Errorf("%s changes nothing", m.Name())
		}
		if text(t, object) != before {
			t.Fatalf("%s has changed the valid object", m.Name())
		}
	}
	for part := Present; part <= Status; part++ {
		if parts[part] < 50 {
			t.Errorf("part %d has %d mutations", part, parts[part])
		}
	}
	if again := All(object, schemaOf(t, strict)); len(again) != len(all) || again[77].Name() != all[77].Name() {
		t.Error("it is another list each time")
	}
}

// TestApply: the results of some mutations.
func TestApply(t *testing.T) {
	all := All(fooBar(t), schemaOf(t, strict))
	for name, want := range map[string]string{
		`spec.target: the number 7`:                                       `"target":7`,
		`spec.target: absent`:                                             `"spec":{"limits":{"cpu":"1"},"ports":[1,2]}`,
		`spec.target: its name is "Target"`:                               `"Target":"a"`,
		`spec.target: a text of a surrogate alone`:                        `"target":"\ud800"`,
		`spec.target: a number beyond all floats`:                         `"target":1e400`,
		`spec.mode: the text "yesterday"`:                                 `"mode":"yesterday"`,
		`spec.ports[1]: absent`:                                           `"ports":[1]`,
		`spec.ports: its first item twice`:                                `"ports":[1,1,2]`,
		`spec.limits.cpu: the text "1e1.5"`:                               `"limits":{"cpu":"1e1.5"}`,
		`spec: an empty list`:                                             `"spec":[]`,
		`status.conditions[0].type: the number 2^63`:                      `"type":9223372036854775808`,
		`metadata.annotations["example.com/x"]: the text "\u202ex"`:       `"annotations":{"example.com/x":"` + "\u202e" + `x"}`,
		`metadata.finalizers: [example.com/hold]`:                         `"finalizers":["example.com/hold"]`,
		`metadata.ownerReferences: an owner`:                              `"uid":"{bystander}"`,
		`spec: an unknown field beside`:                                   `"unheardOf":"x"`,
		`status: the text "x"`:                                            `"status":"x"`,
		`spec.limits: its object in a list`:                               `"limits":[{"cpu":"1"}]`,
		`spec.ports: the text "\x1b[31mx"`:                                `"ports":"\u001b[31mx"`,
		`metadata.name: 4 bytes, ends in .x`:                              ``,
		`metadata.labels["training.kubeflow.org/job-name"]: the text "7"`: `"labels":{"training.kubeflow.org/job-name":"7"}`,
	} {
		i := slices.IndexFunc(all, func(m Mutation) bool { return m.Name() == name })
		switch {
		case want == "" && i >= 0, want != "" && i < 0:
			t.Errorf("%s: is it there? %v", name, i >= 0)
		case i >= 0:
			if got := text(t, all[i].Apply(fooBar(t))); !strings.Contains(got, want) {
				t.Errorf("%s gives %s", name, got)
			}
		}
	}
}

// TestContradicts: values that do not have the type that the schema declares for the place, and others.
func TestContradicts(t *testing.T) {
	all := All(fooBar(t), schemaOf(t, strict))
	for name, want := range map[string]bool{
		`spec.target: the number 7`: true, `spec.target: the text "7"`: false, `spec.target: null`: false, `spec.target: an empty list`: true, `spec.target: its text in a list`: true,
		`spec.ports: its first item alone`: true, `spec.ports[0]: the number 1.5`: true, `spec.ports[0]: the text "7"`: true, `spec.ports[0]: the number -1`: false,
		`spec.ports[0]: the number 2^63`: false, `spec.limits.cpu: the number 7`: false, `spec.limits.cpu: the number 1.5`: false, `spec.limits.cpu: the text "1e1.5"`: false, `spec.limits.cpu: an empty object`: true,
		`spec.limits: an empty list`: true, `spec: the text "x"`: true, `spec.mode: true`: true, `status: the text "x"`: false,
	} {
		i := slices.IndexFunc(all, func(m Mutation) bool { return m.Name() == name })
		if i < 0 || all[i].Contradicts != want {
			t.Errorf("%s: found at %d, want %v", name, i, want)
		}
	}
}

// TestNone: None changes nothing.
func TestNone(t *testing.T) {
	if before, after := text(t, fooBar(t)), text(t, None().Apply(fooBar(t))); before != after {
		t.Errorf("%s has become %s", before, after)
	}
}

// TestTouches: a reported path is about a change if one leads to the other.
func TestTouches(t *testing.T) {
	m := Mutation{Path: Path{"spec", "a", 1}}
	for path, want := range map[string]bool{"spec.a[1]": true, "spec.a": true, "spec": true, "spec.a[1].b": true, "spec.a[10]": false, "spec.a[1]x": false, "spec.ab": false, "spec.b": false, "": true} {
		if m.Touches(path, path+": must be 7") != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	if m := (Mutation{Path: Path{"spec", "a"}, renamed: "b"}); !m.Touches("spec.b", "") || !m.Touches("spec.a", "") || m.Touches("spec.c", "") {
		t.Error("a name that is another")
	}
}

// TestTouchesByName: what is missing elsewhere is named.
func TestTouchesByName(t *testing.T) {
	m := Mutation{Path: Path{"spec", "template", "spec", "volumes"}}
	const mount = "spec.other.mounts[0].name"
	if !m.Touches(mount, mount+": found x, must be a volume; add it to the pod's `volumes`") || m.Touches(mount, mount+": found x, must be a spec of the template") {
		t.Error("a field that a sentence names")
	}
	if m := (Mutation{Path: Path{"spec", "c", 0, "resources", "limits", "cpu"}}); !m.Touches("spec.c[0].resources.requests.cpu", "") || m.Touches("spec.c[0].args", "") {
		t.Error("a field beside")
	}
	if m := (Mutation{Path: Path{"spec", "mounts"}}); m.Touches("spec.other.mounts", "spec.other.mounts: must be set") {
		t.Error("a field that stands in the path alone")
	}
}

// TestSample: a seed draws the same mutations, and another seed others; some of each part, few that are large, none twice.
func TestSample(t *testing.T) {
	all := All(fooBar(t), schemaOf(t, strict))
	names := func(n int, seed uint64) (names []string) {
		for _, m := range Sample(all, n, seed) {
			names = append(names, m.Name())
		}
		return names
	}
	one := names(200, 1)
	if diff := cmp.Diff(one, names(200, 1)); diff != "" || slices.Equal(one, names(200, 2)) {
		t.Errorf("what a seed draws: %s", diff)
	}
	// One mutation fewer changes no other draw.
	all = slices.DeleteFunc(all, func(m Mutation) bool { return m.Name() == one[0] })
	fewer := 0
	for _, name := range names(200, 1) {
		if !slices.Contains(one, name) {
			fewer++
		}
	}
	if fewer > 1 {
		t.Errorf("without one of them %d others are drawn, want 1", fewer)
	}
	one = names(200, 1)
	parts, largest, seen := map[Part]int{}, 0, map[string]bool{}
	for _, m := range Sample(all, 200, 1) {
		parts[m.Part]++
		if m.Large {
			largest++
		}
		if seen[m.Name()] {
			t.Errorf("twice: %s", m.Name())
		}
		seen[m.Name()] = true
	}
	if len(one) != 200 || parts[Present] != 50 || parts[Absent] != 50 || parts[Metadata] != 50 || largest > 4 {
		t.Errorf("%d in all, by part %v, %d large", len(one), parts, largest)
	}
	if n := len(Sample(all, 1<<20, 1)); n < len(all)/2 || n > len(all) {
		t.Errorf("%d of %d", n, len(all))
	}
}

func TestPath(t *testing.T) {
	for want, p := range map[string]Path{"spec.a[0].b-c": {"spec", "a", 0, "b-c"}, `a["x.y/z"]["0"].c`: {"a", "x.y/z", "0", "c"}, `[""]`: {""}, fmt.Sprintf("[%q]", strings.Repeat("a", 61)): {strings.Repeat("a", 61)}} {
		if got := p.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
