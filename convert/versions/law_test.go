package versions

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// normal returns an object as the law compares it: as JSON, without our annotation, and without an empty map of annotations.
func normal(t rapid.TB, object map[string]any) map[string]any {
	t.Helper()
	object = parse(t, jsonOf(object))
	if meta, ok := object["metadata"].(map[string]any); ok {
		annotations, ok := meta["annotations"].(map[string]any)
		delete(annotations, key)
		if ok && len(annotations) == 0 || meta["annotations"] == nil {
			delete(meta, "annotations")
		}
	}
	return object
}

func parse(t rapid.TB, text string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return object
}

// convertBy converts by JSON, as a webhook does, and checks what holds of every conversion.
func convertBy(t rapid.TB, c *Converter, object map[string]any, to string) Result {
	t.Helper()
	before := jsonOf(object)
	r, err := c.Convert(object, to)
	if err != nil {
		t.Fatalf("to %s: %v", to, err)
	}
	again, err := c.Convert(object, to)
	if err != nil || jsonOf(again.Object) != jsonOf(r.Object) || again.Outcome != r.Outcome {
		t.Fatalf("two results, %v:\n%s\n%s", err, jsonOf(r.Object), jsonOf(again.Object))
	}
	if jsonOf(object) != before {
		t.Fatalf("changed what it was given\nfrom %s\nto   %s", before, jsonOf(object))
	}
	if r.Outcome == Panicked {
		t.Fatalf("%s: %s\n%s", before, r.Why, r.Stack)
	}
	if got, err := c.VersionOf(r.Object); got != to || err != nil {
		t.Fatalf("version %s, %v", got, err)
	}
	metadataAsItCame(t, object, r.Object)
	r.Object = parse(t, jsonOf(r.Object))
	return r
}

// metadataAsItCame checks that metadata is unchanged except for our annotation.
func metadataAsItCame(t rapid.TB, before, after map[string]any) {
	t.Helper()
	if diff := cmp.Diff(normal(t, before)["metadata"], normal(t, after)["metadata"]); diff != "" {
		t.Fatalf("metadata differ:\n%s", diff)
	}
}

// thereAndBack checks the law: converting an object to a version and back changes nothing.
func thereAndBack(t rapid.TB, c *Converter, object map[string]any, by string) {
	t.Helper()
	from, err := c.VersionOf(object)
	if err != nil {
		t.Fatal(err)
	}
	there := convertBy(t, c, object, by)
	if there.Outcome == NotKept {
		return
	}
	back := convertBy(t, c, there.Object, from)
	if back.Outcome == NotKept {
		return
	}
	// As texts: cmp needs minutes for thousands of levels.
	if before, after := jsonOf(normal(t, object)), jsonOf(normal(t, back.Object)); before != after {
		t.Fatalf("%s by %s and back:\nbefore  %.2000s\nbetween %.2000s\nafter   %.2000s", from, by, jsonOf(object), jsonOf(there.Object), jsonOf(back.Object))
	}
}

// drawing draws objects whose keys are mostly those that the tables name, with annotations of ours that another client could have
// made up.
type drawing struct {
	keys, places, versions []string
	scalars                []any
}

func drawingOf(k Kind) drawing {
	d := drawing{versions: []string{k.Hub, "v9"}, keys: []string{"x"},
		scalars: []any{nil, "", "x", int64(0), int64(1), 1.0, 1.5, 1e300, int64(1) << 62, true, "Running", "None", "OnFailure", "Never", "é\u2028<"}}
	for _, v := range k.Versions {
		d.versions = append(d.versions, v.Name)
		for _, p := range v.places() {
			d.places = append(d.places, p)
			d.keys = append(d.keys, strings.Split(p, ".")...)
		}
		for _, m := range v.Moves {
			d.scalars = append(d.scalars, m.Default, m.HubDefault)
		}
	}
	slices.Sort(d.keys)
	d.keys = slices.Compact(d.keys)
	return d
}

func (d drawing) value(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 9).Draw(t, "value"); {
	case depth > 0 && n < 3:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[rapid.SampledFrom(d.keys).Draw(t, "key")] = d.value(t, depth-1)
		}
		return m
	case depth > 0 && n == 3:
		return []any{d.value(t, depth-1)}
	}
	return rapid.SampledFrom(d.scalars).Draw(t, "scalar")
}

// tree draws values at the places that the tables name.
func (d drawing) tree(t *rapid.T) map[string]any {
	root := map[string]any{}
	for range rapid.IntRange(0, 6).Draw(t, "places") {
		d.set(t, root, strings.Split(rapid.SampledFrom(d.places).Draw(t, "place"), "."))
	}
	return root
}

func (d drawing) set(t *rapid.T, root map[string]any, p place) {
	for i, k := range p {
		next, ok := root[k].(map[string]any)
		if i == len(p)-1 || rapid.IntRange(0, 15).Draw(t, "early") == 0 {
			root[k] = d.value(t, 2)
			return
		}
		if !ok {
			next = map[string]any{}
			root[k] = next
		}
		root = next
	}
}

// annotation draws an annotation that is or resembles one of ours.
func (d drawing) annotation(t *rapid.T) any {
	switch rapid.IntRange(0, 9).Draw(t, "annotation") {
	case 0:
		return rapid.SampledFrom([]any{"", "{", "null", "[]", `{"v1":7}`, `{"v1":{"lost":[]}}`, `{"v1":{"lost":{"spec":7},"filled":"x"}}`, " {} ", "\x00", int64(7), nil}).Draw(t, "broken")
	case 1:
		return jsonOf(d.value(t, 4))
	}
	r := map[string]any{}
	for _, v := range d.versions {
		if rapid.Bool().Draw(t, "entry") {
			filled := map[string]any{}
			for range rapid.IntRange(0, 3).Draw(t, "filled") {
				filled[rapid.SampledFrom(d.places).Draw(t, "place")] = d.value(t, 1)
			}
			r[v] = map[string]any{"lost": d.tree(t), "filled": filled}
		}
	}
	return jsonOf(r)
}

func (d drawing) object(t *rapid.T, k Kind, version string) map[string]any {
	object := d.tree(t)
	if rapid.Bool().Draw(t, "junk") {
		maps.Copy(object, map[string]any{rapid.SampledFrom(d.keys).Draw(t, "key"): d.value(t, 4)})
	}
	meta := map[string]any{"name": "a", "labels": map[string]any{"a": "b"}}
	if rapid.Bool().Draw(t, "annotated") {
		annotations := map[string]any{key: d.annotation(t)}
		if rapid.Bool().Draw(t, "others") {
			annotations["other"] = rapid.SampledFrom([]any{"x", "", int64(3)}).Draw(t, "other")
		}
		meta["annotations"] = annotations
	}
	switch rapid.IntRange(0, 19).Draw(t, "metadata") {
	case 0:
		meta["annotations"] = rapid.SampledFrom([]any{nil, map[string]any{}, "x", []any{}}).Draw(t, "annotations")
		object["metadata"] = meta
	case 1:
		object["metadata"] = rapid.SampledFrom([]any{nil, "x", map[string]any{}}).Draw(t, "odd")
	case 2:
	default:
		object["metadata"] = meta
	}
	object["apiVersion"], object["kind"] = k.Group+"/"+version, k.Name
	return object
}

// TestLaw: converting to any other version and back changes nothing, whatever is in the object.
func TestLaw(t *testing.T) {
	k := gadgets()
	c, d := converterOf(t, k), drawingOf(k)
	rapid.Check(t, func(t *rapid.T) {
		from, by := rapid.SampledFrom(c.Versions()).Draw(t, "from"), rapid.SampledFrom(c.Versions()).Draw(t, "by")
		thereAndBack(t, c, d.object(t, k, from), by)
	})
}
