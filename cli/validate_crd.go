package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/convert"
	"stoic/schema"
)

// custom is a kind that a CustomResourceDefinition defines, with the schema of each version that is served.
type custom struct {
	group, kind string
	versions    []*convert.Schema
}

// readCustoms reads the kinds that --crd names. A file or folder may hold other objects, which are ignored; what is
// meant to be a definition and is none would make every answer wrong, so it is an error.
func readCustoms(names []string) (customs []custom, notes []string, err error) {
	sources, unreadable := sourcesOf(names, false)
	if err := errors.Join(unreadable...); err != nil {
		return nil, nil, &exitError{code: 2, err: err}
	}
	for _, s := range sources {
		content, err := s.read(nil)
		if err != nil {
			return nil, nil, &exitError{code: 2, err: err}
		}
		found, said, err := customsIn(content)
		if err == nil && len(found) == 0 {
			err = errors.New("holds no CustomResourceDefinition")
		}
		for i := range found {
			if err == nil && customOf(customs, found[i].group, found[i].kind) != nil {
				err = fmt.Errorf("kind %s of group %s is defined already", found[i].kind, found[i].group)
			}
			customs = append(customs, found[i])
		}
		if err != nil {
			return nil, nil, &exitError{code: 2, err: fmt.Errorf("--crd %s: %w", oneLine(s.name), err)}
		}
		for _, note := range said {
			notes = append(notes, oneLine(s.name)+": "+note)
		}
	}
	return customs, notes, nil
}

func customOf(customs []custom, group, kind string) *custom {
	for i := range customs {
		if customs[i].group == group && strings.EqualFold(customs[i].kind, kind) {
			return &customs[i]
		}
	}
	return nil
}

// customsIn reads the definitions in a file, and says what of them is not checked.
func customsIn(content []byte) (customs []custom, notes []string, err error) {
	for _, doc := range documents(content, false) {
		text, err := yaml.YAMLToJSON(doc.text)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: a document that is not YAML: %s", doc.line+1, schema.Clean(err.Error(), 200))
		}
		var top struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		if json.Unmarshal(text, &top) != nil {
			continue // no object
		}
		objects := []json.RawMessage{text}
		if strings.HasSuffix(top.Kind, "List") {
			objects = top.Items
		}
		for _, object := range objects {
			found, note, err := customIn(object)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", doc.line+1, err)
			}
			if found == nil {
				continue
			}
			if customs = append(customs, *found); note != "" {
				notes = append(notes, note)
			}
		}
	}
	return customs, notes, nil
}

// customIn reads one definition; nil if the object is of another kind.
func customIn(text []byte) (found *custom, note string, err error) {
	var top struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if json.Unmarshal(text, &top) != nil || top.Kind != "CustomResourceDefinition" {
		return nil, "", nil
	}
	if want := apiextensionsv1.SchemeGroupVersion.String(); top.APIVersion != want {
		return nil, "", fmt.Errorf("apiVersion: found %s, must be %q", schema.Quote(top.APIVersion), want)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &crd); err != nil {
		return nil, "", fmt.Errorf("read the CustomResourceDefinition: %s", schema.Clean(err.Error(), 300))
	}
	name := cmp.Or(schema.Clean(crd.Name, 253), "CustomResourceDefinition")
	versions, err := convert.Structural(&crd)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %s", name, schema.Clean(err.Error(), 600))
	}
	rules := 0
	for _, version := range versions {
		rules += version.Rules
	}
	if rules > 0 {
		note = fmt.Sprintf("%s has %s in CEL (x-kubernetes-validations), which only an API server evaluates", name, plural(rules, "rule"))
	}
	return &custom{group: crd.Spec.Group, kind: crd.Spec.Names.Kind, versions: versions}, note, nil
}

// recognizeCustom finds the schema for an object. As for our own kinds, problems without a schema say why it cannot be known,
// and neither means that the object is somebody else's.
func recognizeCustom(customs []custom, fields map[string]any) (*convert.Schema, []schema.Problem) {
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

// version finds the schema of a version that is served.
func (c custom) version(apiVersion string) (*convert.Schema, []schema.Problem) {
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
		found := s.Check(&unstructured.Unstructured{Object: fields})
		problems, warnings = append(problems, found.Problems...), found.Warnings
		object.name = name{Kind: s.Resource.Kind, Namespace: schema.Clean(found.Namespace, 253), Name: schema.Clean(found.Name, 253)}
	}
	r.checked(e, object, problems, warnings)
}

// printNotes prints what is not checked.
func (r *report) printNotes(out io.Writer) {
	for _, note := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
}
