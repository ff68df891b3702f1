package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/cli/command"
	"stoic/convert"
	"stoic/convert/verdict"
	"stoic/schema"
	"stoic/schema/crd/check"
)

// custom is a kind that a CustomResourceDefinition defines, with the schema of each version that is served.
type custom struct {
	group, kind string
	versions    []*version
}

// version is a served version of a custom resource.
type version struct {
	*convert.Schema // finds positions, suggestions and words
	judge           *verdict.Judge
}

// readCustoms reads the kinds that --crd names. Other objects in a file or folder are ignored. An object that is meant to be a CRD but is
// not would make every result wrong, so it is an error. Each named file, and each named folder as a whole, must hold a CRD.
func readCustoms(ctx context.Context, names []string) (customs []custom, notes []string, err error) {
	for _, name := range names {
		sources, unreadable := sourcesOf(ctx, []string{name}, false)
		if err := errors.Join(unreadable...); err != nil {
			return nil, nil, &command.ExitError{Code: 2, Err: err}
		}
		before := len(customs)
		for _, s := range sources {
			found, said, err := s.customs(ctx, customs)
			switch {
			case errors.Is(err, command.ErrInterrupted):
				return nil, nil, err
			case err != nil:
				return nil, nil, &command.ExitError{Code: 2, Err: fmt.Errorf("--crd %s: %w", oneLine(s.name), err)}
			}
			customs, notes = append(customs, found...), append(notes, said...)
		}
		if ctx.Err() != nil {
			return nil, nil, command.ErrInterrupted
		}
		if len(customs) == before {
			return nil, nil, &command.ExitError{Code: 2, Err: fmt.Errorf("--crd %s: holds no CustomResourceDefinition", oneLine(name))}
		}
	}
	return customs, notes, nil
}

// customs returns the kinds defined in a source, and what of it is skipped. A kind that others define already is an error.
func (s source) customs(ctx context.Context, others []custom) (found []custom, notes []string, err error) {
	content, err := s.read(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	found, notes, err = customsIn(content)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range found {
		if customOf(others, c.group, c.kind) != nil || customOf(found[:i], c.group, c.kind) != nil {
			return nil, nil, fmt.Errorf("kind %s of group %s is defined already", c.kind, c.group)
		}
	}
	for i, note := range notes {
		notes[i] = oneLine(s.name) + ": " + note
	}
	return found, notes, nil
}

func customOf(customs []custom, group, kind string) *custom {
	for i := range customs {
		if customs[i].group == group && strings.EqualFold(customs[i].kind, kind) {
			return &customs[i]
		}
	}
	return nil
}

// customsIn reads the CRDs in a file, and returns what of it is skipped.
func customsIn(content []byte) (customs []custom, notes []string, err error) {
	for _, doc := range documents(content, false) {
		e, err := parsedInLine(doc)
		if err != nil {
			return nil, nil, err
		}
		var wrong error
		e.each(func(e entry) {
			found, note, err := customIn(e.raw)
			wrong = cmp.Or(wrong, err)
			if found != nil {
				customs = append(customs, *found)
			}
			if note != "" {
				notes = append(notes, note)
			}
		})
		if wrong != nil {
			return nil, nil, fmt.Errorf("line %d: %w", doc.line+1, wrong)
		}
	}
	return customs, notes, nil
}

// customIn reads one CRD. It returns nil for an object of another kind, and nil with a note for a patch of a CRD.
func customIn(raw any) (found *custom, note string, err error) {
	if list, ok := raw.([]any); ok && slices.ContainsFunc(list, isCRD) {
		return nil, "", errors.New(listed().String())
	}
	if !isCRD(raw) {
		return nil, "", nil
	}
	fields, _ := raw.(map[string]any)
	if isPatch(fields) {
		return nil, fmt.Sprintf("%s is skipped: it is a patch of a CustomResourceDefinition, with neither spec.group nor spec.versions", cmp.Or(nameIn(raw).Name, "a document")), nil
	}
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, "", fmt.Errorf("write the CustomResourceDefinition as JSON: %w", err) // it was JSON before
	}
	version, _ := fields["apiVersion"].(string)
	if want := apiextensionsv1.SchemeGroupVersion.String(); version != want {
		return nil, "", fmt.Errorf("apiVersion: found %s, must be %q", schema.Quote(version), want)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &crd); err != nil {
		return nil, "", fmt.Errorf("read the CustomResourceDefinition: %s", schema.Clean(err.Error(), 300))
	}
	name := cmp.Or(schema.Clean(crd.Name, 253), "CustomResourceDefinition")
	versions, err := versionsOf(&crd)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %s", name, schema.Clean(err.Error(), 600))
	}
	return &custom{group: crd.Spec.Group, kind: crd.Spec.Names.Kind, versions: versions}, "", nil
}

// isPatch reports whether an object of kind CustomResourceDefinition only changes another one, as files in config/crd/patches of
// kubebuilder's projects do.
func isPatch(fields map[string]any) bool {
	spec, isObject := fields["spec"].(map[string]any)
	_, hasSpec := fields["spec"]
	return !hasSpec || isObject && spec["group"] == nil && spec["versions"] == nil
}

// versionsOf returns the served versions of a CRD.
func versionsOf(crd *apiextensionsv1.CustomResourceDefinition) ([]*version, error) {
	schemas, err := convert.Structural(crd)
	if err != nil {
		return nil, err
	}
	var versions []*version
	for i := range crd.Spec.Versions {
		if !crd.Spec.Versions[i].Served {
			continue
		}
		judge, err := verdict.New(&crd.Spec.Versions[i])
		if err != nil {
			return nil, fmt.Errorf("spec.versions[%d].%w", i, err)
		}
		versions = append(versions, &version{schemas[len(versions)], judge})
	}
	return versions, nil
}

// recognizeCustom finds the schema for an object. Problems without a schema say why it is unknown. Neither means that the object belongs
// to another API. recognize does the same for our own kinds.
func recognizeCustom(customs []custom, fields map[string]any) (*version, []schema.Problem) {
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	for _, c := range customs {
		switch {
		case group != c.group && apiVersion != "":
		case strings.EqualFold(kind, c.kind) && apiVersion == "":
			first := c.versions[0]
			return first, []schema.Problem{{Code: schema.MissingField, Path: "apiVersion", Want: "be set", Hint: `write "` + first.Resource.APIVersion() + `"`}}
		case strings.EqualFold(kind, c.kind):
			return c.version(apiVersion)
		}
	}
	for _, c := range customs {
		if kind == "" && group == c.group {
			return nil, []schema.Problem{{Code: schema.MissingField, Path: "kind", Want: "be set"}}
		}
	}
	return nil, nil
}

// version returns the schema of a served version.
func (c custom) version(apiVersion string) (*version, []schema.Problem) {
	var served []string
	for _, s := range c.versions {
		if s.Resource.APIVersion() == apiVersion {
			return s, nil
		}
		served = append(served, schema.Quote(s.Resource.APIVersion()))
	}
	want := "be " + served[0]
	if len(served) > 1 {
		want = "be one of " + schema.Cut(strings.Join(served, ", "), 300)
	}
	return nil, []schema.Problem{{Code: schema.InvalidValue, Path: "apiVersion", Found: schema.Quote(apiVersion), Want: want}}
}

// custom checks an object of a kind that --crd names.
func (r *report) custom(e entry, fields map[string]any) {
	s, problems := recognizeCustom(r.customs, fields)
	if s == nil && len(problems) == 0 {
		r.Summary.Skipped++
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
				Want: "be accepted by the API server, which says: " + schema.Clean(refusal.Detail, 300)})
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
