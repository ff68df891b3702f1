package convert

import (
	"stoic/convert"
	"stoic/convert/versions"
	"stoic/schema"
	"stoic/training"
)

// unlike rejects a job that an API server converted from Kind.Unlike and that keeps content of that version in its annotation.
func (r *reader) unlike(annotations map[string]any) {
	version := r.kind.Unlike
	text, _ := annotations[training.AnnotationConversion].(string)
	if version.Name == "" || !versions.Keeps(text, version.Name) {
		return
	}
	r.Take([]schema.Problem{{Code: schema.InvalidValue, Path: convert.Path("metadata", "annotations", training.AnnotationConversion), Found: "content of " + version.Name,
		Want: version.Want, Hint: version.Hint}}, nil)
}
