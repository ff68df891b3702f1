package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	engine "stoic/convert"
	"stoic/deploy"
	"stoic/schema"
	"stoic/training"
	"stoic/training/convert"
)

// job checks an object of one of our kinds: as the operator would, and by the CRD that is installed with it, since the API server
// refuses what violates that before the operator sees it.
func (r *report) job(kind *training.Kind, fields map[string]any, unnamed bool) (of name, problems, warnings []schema.Problem) {
	prefix, named, generated := withName(withoutNulls(fields), unnamed)
	result := convert.Object(kind, &unstructured.Unstructured{Object: named})
	of = nameOf(result.Head)
	if result.Rejection != nil {
		problems = slices.Clone(result.Rejection.Problems)
	}
	if generated {
		of.Name = schema.Clean(prefix, 253)
		ofPrefix(problems, prefix)
	}
	schemaOf, err := r.installed(kind)
	if err != nil {
		return of, append(problems, engine.Broken(err)), result.Warnings
	}
	refused := refusedBySchema(problems, schemaOf.Check(&unstructured.Unstructured{Object: fields}).Problems)
	warnings = slices.DeleteFunc(slices.Clone(result.Warnings), func(w schema.Problem) bool {
		return slices.ContainsFunc(refused, func(p schema.Problem) bool { return p.Path == w.Path })
	})
	problems = schema.SortProblems(append(problems, refused...))
	return of, problems, warnings
}

// withoutNulls returns an object without the fields that are null, as an API server stores it: no field of our kinds may be null.
func withoutNulls(fields map[string]any) map[string]any {
	kept := make(map[string]any, len(fields))
	for key, value := range fields {
		if value != nil {
			kept[key] = withoutNullsIn(value)
		}
	}
	return kept
}

func withoutNullsIn(value any) any {
	switch value := value.(type) {
	case map[string]any:
		return withoutNulls(value)
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = withoutNullsIn(item) // an item stays
		}
		return items
	}
	return value
}

// refusedBySchema returns the problems that only the schema of the CRD has. The converter's words are better where both have one.
func refusedBySchema(problems, bySchema []schema.Problem) (refused []schema.Problem) {
	for _, p := range bySchema {
		if isOfSchema(p) && !slices.ContainsFunc(problems, func(other schema.Problem) bool { return leadsTo(p.Path, other.Path) }) {
			refused = append(refused, p)
		}
	}
	return refused
}

// leadsTo reports whether a path leads to another, or is the same.
func leadsTo(path, to string) bool {
	rest, ok := strings.CutPrefix(to, path)
	return ok && (rest == "" || path == "" || rest[0] == '.' || rest[0] == '[')
}

// installed returns the schema of the CRD that is installed for a kind. It is read once, as it takes a tenth of a second.
func (r *report) installed(kind *training.Kind) (*engine.Schema, error) {
	if found := r.schemas[kind.APIVersion()+kind.Plural]; found != nil {
		return found, nil
	}
	text, err := deploy.CRD(kind.Plural, kind.Singular, kind.Version)
	if err != nil {
		return nil, err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, fmt.Errorf("read the built-in CRD of %s: %w", kind.Plural, err)
	}
	versions, err := engine.Structural(&crd)
	if err != nil {
		return nil, fmt.Errorf("read the built-in CRD of %s: %w", kind.Plural, err)
	}
	if r.schemas == nil {
		r.schemas = map[string]*engine.Schema{}
	}
	for _, version := range versions {
		r.schemas[version.Resource.APIVersion()+kind.Plural] = version
	}
	return r.schemas[kind.APIVersion()+kind.Plural], nil
}

// generatedEnd takes the place of what an API server appends to generateName: five letters and digits.
const generatedEnd = "x2x4x"

// withName returns an object with a name like the one that an API server generates, and the prefix that it generates it from, if the
// object has no name. An object that is unnamed gets its name from something else, without a prefix.
func withName(fields map[string]any, unnamed bool) (prefix string, named map[string]any, generated bool) {
	meta, _ := fields["metadata"].(map[string]any)
	prefix, _ = meta["generateName"].(string)
	name := meta["name"]
	if prefix == "" && !unnamed || name != nil && name != "" {
		return "", fields, false
	}
	if meta = maps.Clone(meta); meta == nil {
		meta = map[string]any{}
	}
	meta["name"] = generatedName(prefix)
	named = maps.Clone(fields)
	named["metadata"] = meta
	return prefix, named, true
}

// generatedName is a name for a prefix, of which an API server takes 58 bytes.
func generatedName(prefix string) string { return prefix[:min(len(prefix), 58)] + generatedEnd }

// ofPrefix rewrites problems of a generated name as problems of its prefix.
func ofPrefix(problems []schema.Problem, prefix string) {
	name := schema.Quote(generatedName(prefix))
	for i, p := range problems {
		if p.Path != "metadata.name" {
			continue
		}
		p.Path = "metadata.generateName"
		p.Found = strings.Replace(p.Found, name, schema.Quote(prefix), 1)
		p.Hint = strings.Replace(p.Hint, generatedEnd+`"`, `"`, 1)
		problems[i] = p
	}
}

// Limits of the size of one object, in bytes of JSON: of a request to an API server, and of a request to etcd by default.
const (
	requestLimit = 3 << 20
	storageLimit = 3 << 19
)

// tooLarge returns a problem, or a warning, if an object is larger than a cluster stores.
func tooLarge(e entry, fields map[string]any) (problems, warnings []schema.Problem) {
	if len(e.doc.text) < storageLimit/8 { // an anchor can make JSON larger than its YAML, but not a job
		return nil, nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, nil // it was JSON before
	}
	p := schema.Problem{Code: schema.TooLarge, Path: "spec", Found: fmt.Sprintf("an object of %d bytes", len(text))}
	switch {
	case len(text) > requestLimit:
		p.Want = fmt.Sprintf("have at most %d, the limit of a request to an API server", requestLimit)
		return []schema.Problem{p}, nil
	case len(text) > storageLimit:
		p.Want = fmt.Sprintf("have at most %d, the limit of etcd unless it is set", storageLimit)
		return nil, []schema.Problem{p}
	}
	return nil, nil
}
