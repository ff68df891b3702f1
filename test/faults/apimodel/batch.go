package apimodel

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkStart checks a batch/v1 Job: while it is not suspended, its start time must not change.
func (s *store) checkStart(subresource string, was, is map[string]any) (errs field.ErrorList) {
	if s.Group != "batch" || s.Plural != "jobs" || subresource != "status" || Get(was, "spec", "suspend") == true {
		return nil
	}
	before, after := Get(was, "status", "startTime"), Get(is, "status", "startTime")
	path := field.NewPath("status", "startTime")
	switch {
	case before == nil, equal(before, after):
	case after == nil:
		errs = append(errs, field.Required(path, "startTime cannot be removed for unsuspended job"))
	default:
		errs = append(errs, field.Invalid(path, after, "field is immutable for unsuspended job once set"))
	}
	return errs
}
