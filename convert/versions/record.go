package versions

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"stoic/convert"
	"stoic/schema"
)

// record is what the annotation says, by version. It is whatever somebody has written: entries are read one by one.
type record map[string]any

// entry is what a record keeps of the content of one version.
type entry struct {
	lost   map[string]any // content, at its places in that version
	filled map[string]any // values by their places in the version that the object was converted to
}

// Members of an entry.
const memberLost, memberFilled = "lost", "filled"

// entryLevels are those of a record above what an entry has lost: the record and the entry.
const entryLevels = 2

// read a record. What is no JSON object is an empty one, and so is what no conversion writes: text of more bytes than an API server takes
// of all annotations together, and content of more levels than an object may have that it is given back to.
func read(text string) record {
	var r record
	if text == "" || len(text) > validation.TotalAnnotationSizeLimitB || json.Unmarshal([]byte(text), (*map[string]any)(&r)) != nil {
		return nil
	}
	if deeper(map[string]any(r), deepest+entryLevels) {
		return nil
	}
	return r
}

// text is the record as JSON with sorted keys; "" if it is empty.
func (r record) text() string {
	if len(r) == 0 {
		return ""
	}
	return jsonOf(map[string]any(r))
}

// entry of a version; an empty one if there is none, or none that can be understood.
func (r record) entry(version string) entry {
	raw, _ := r[version].(map[string]any)
	lost, _ := raw[memberLost].(map[string]any)
	filled, _ := raw[memberFilled].(map[string]any)
	return entry{lost, filled}
}

// with another entry for a version, or without one if it is empty.
func (r record) with(version string, e entry) record {
	raw := map[string]any{}
	if len(e.lost) > 0 {
		raw[memberLost] = e.lost
	}
	if len(e.filled) > 0 {
		raw[memberFilled] = e.filled
	}
	_, there := r[version]
	if len(raw) == 0 && !there {
		return r
	}
	changed := maps.Clone(r)
	if changed == nil {
		changed = record{}
	}
	if changed[version] = raw; len(raw) == 0 {
		delete(changed, version)
	}
	return changed
}

// Keeps says whether an annotation keeps content of a version that the present one has no place for, or a default that was written out.
// What is no record of a conversion keeps nothing.
func Keeps(annotation, version string) bool {
	e := read(annotation).entry(version)
	return len(e.lost)+len(e.filled) > 0
}

// refused says why an API server refuses annotations; "" if it does not. It looks at all of them if one is changed.
func refused(annotations map[string]any) string {
	all := make(map[string]string, len(annotations))
	for key, value := range annotations {
		text, ok := value.(string)
		if !ok {
			return "the annotation " + schema.Quote(key) + " is not a string"
		}
		all[key] = text
	}
	if errs := validation.ValidateAnnotations(all, field.NewPath("metadata", "annotations")); len(errs) > 0 {
		return strings.ToValidUTF8(errs[0].Error(), "\uFFFD")
	}
	return ""
}

// jsonOf a value: compact, with sorted keys.
func jsonOf(value any) string {
	e := convert.LendEncoder()
	defer e.GiveBack()
	return string(e.EncodeAll(value))
}

// same JSON: 1 and 1.0 are.
func same(a, b any) bool {
	if a, ok := a.(string); ok {
		b, ok := b.(string)
		return ok && a == b
	}
	return jsonOf(a) == jsonOf(b)
}
