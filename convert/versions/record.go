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

// record is the content of the annotation, by version. Any client may have written it, so entries are read one by one.
type record map[string]any

// entry is what a record keeps of the content of one version.
type entry struct {
	lost   map[string]any // content, at its places in that version
	filled map[string]any // values by their places in the version that the object was converted to
}

// The members of an entry.
const memberLost, memberFilled = "lost", "filled"

// entryLevels are the levels of a record above lost content: the record and the entry.
const entryLevels = 2

// read returns the record in an annotation. It is empty if the text is no JSON object, or one that no conversion writes: one with
// more bytes than an API server allows for all annotations, or with content of more levels than an object may have that it is given
// back to.
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

// text returns the record as JSON with sorted keys; "" if it is empty.
func (r record) text() string {
	if len(r) == 0 {
		return ""
	}
	return jsonOf(map[string]any(r))
}

// entry returns the entry of a version; an empty one if it does not exist or is malformed.
func (r record) entry(version string) entry {
	raw, _ := r[version].(map[string]any)
	lost, _ := raw[memberLost].(map[string]any)
	filled, _ := raw[memberFilled].(map[string]any)
	return entry{lost, filled}
}

// with returns the record with another entry for a version, or without one if the entry is empty.
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

// Keeps reports whether an annotation keeps content of a version that the present one has no place for, or a default that was
// written out. An annotation that no conversion could have written keeps nothing.
func Keeps(annotation, version string) bool {
	e := read(annotation).entry(version)
	return len(e.lost)+len(e.filled) > 0
}

// refused returns why an API server refuses annotations; "" if it does not. If one changes, it validates all of them.
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

// jsonOf returns a value as compact JSON with sorted keys.
func jsonOf(value any) string {
	e := convert.LendEncoder()
	defer e.GiveBack()
	return string(e.EncodeAll(value))
}

// same reports whether two values are the same JSON: 1 and 1.0 are.
func same(a, b any) bool {
	if a, ok := a.(string); ok {
		b, ok := b.(string)
		return ok && a == b
	}
	return jsonOf(a) == jsonOf(b)
}
