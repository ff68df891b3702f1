package convert

import (
	"encoding/json"

	"stoic/schema"
	"stoic/training"
)

// unlike rejects a job of a version that its kind does not run, though an API server has converted it: one that keeps content of
// that version. What is no record of a conversion says nothing.
func (r *reader) unlike(annotations map[string]any) {
	version := r.kind.Unlike
	text, _ := annotations[training.AnnotationConversion].(string)
	if version.Name == "" || text == "" {
		return
	}
	var record map[string]any
	if json.Unmarshal([]byte(text), &record) != nil {
		return
	}
	kept, _ := record[version.Name].(map[string]any)
	lost, _ := kept["lost"].(map[string]any)
	filled, _ := kept["filled"].(map[string]any)
	if len(lost)+len(filled) == 0 {
		return
	}
	r.Take([]schema.Problem{{Code: schema.InvalidValue, Path: "metadata.annotations[" + training.AnnotationConversion + "]", Found: "content of " + version.Name,
		Want: version.Want, Hint: version.Hint}}, nil)
}
