package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/schema"
	"stoic/schema/crd/check"
)

// custom checks an object of a kind that --crd names. Known is set if something in it was checked: then it is not skipped.
func (r *report) custom(e entry, fields map[string]any, known bool) {
	s, problems := r.definitions.recognize(fields)
	if s == nil && len(problems) == 0 {
		if !known {
			r.skip(e)
		}
		return
	}
	var warnings []schema.Problem
	object := checked{file: e.file}
	object.name.Kind, _ = fields["kind"].(string)
	object.name.Kind = schema.Clean(object.name.Kind, 253)
	if s != nil {
		found := s.check(fields)
		problems, warnings = append(problems, found.Problems...), found.Warnings
		object.name = name{Kind: s.Resource.Kind, Namespace: schema.Clean(found.Namespace, 253), Name: schema.Clean(found.Name, 253)}
	}
	r.checked(e, object, problems, warnings)
}

// check reports what is wrong with an object. Whether an API server would refuse it is the verdict of the API server's own library,
// CEL rules included; convert.Schema says it in our words, with suggestions, and checks the metadata.
func (v *version) check(fields map[string]any) *convert.Checked {
	found := v.Schema.Check(&unstructured.Unstructured{Object: fields})
	decided := v.judge.Judge(fields)
	if len(decided.Refusals) == 0 {
		found.Problems = slices.DeleteFunc(found.Problems, isOfSchema)
	} else if !slices.ContainsFunc(found.Problems, isOfSchema) {
		for _, refusal := range decided.Refusals {
			found.Problems = append(found.Problems, schema.Problem{Code: schema.InvalidValue, Path: pathOf(refusal.Field),
				Want: serverSays(refusal.Detail)})
		}
	}
	for _, violated := range decided.Rules {
		found.Problems = append(found.Problems, schema.Problem{Code: schema.InvalidValue, Path: pathOf(violated.Field),
			Want: "satisfy a rule of the definition: " + schema.Clean(strings.TrimPrefix(violated.Detail, "failed rule: "), 300)})
	}
	found.Problems = schema.SortProblems(found.Problems)
	return found
}

// isOfSchema reports whether the schema of a definition decides about a problem: the metadata is checked for all kinds alike, and an
// object that is too large for our check is not accepted in silence.
func isOfSchema(p schema.Problem) bool {
	first, _, _ := strings.Cut(p.Path, ".")
	return p.Code != schema.TooLarge && !slices.Contains([]string{"apiVersion", "kind", "metadata"}, first)
}

// pathOf returns a path of the API server's library as our messages spell it: empty for the whole object.
func pathOf(path string) string {
	if path == "<nil>" {
		return ""
	}
	return schema.Clean(check.KubectlPath(path), 400)
}

// printNotes prints what is skipped.
func (r *report) printNotes(out io.Writer) {
	for _, note := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
}
