package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/spec3"
	"sigs.k8s.io/yaml"
)

const (
	// prefix begins the names that an API server gives to the schemas of kubeflow.org/v1.
	prefix = "org.kubeflow.v1."
	// reference begins a reference to a schema of the document.
	reference = "#/components/schemas/"
	// kindsOf is the field of a schema that lists its kinds.
	kindsOf = "x-kubernetes-group-version-kind"
)

// build returns the document that an API server publishes, at /openapi/v3/apis/GROUP/VERSION, for the CRDs in a folder. They must be of
// one group; the version is the stored one.
func build(folder string) (map[string]any, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find CRDs in %s: %d files, %w", folder, len(files), err)
	}
	var documents []*spec3.OpenAPI
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a CRD: %w", err)
		}
		crd := &crdv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if len(crd.Spec.Versions) != 1 {
			return nil, fmt.Errorf("%s has %d versions, and a document is of one", file, len(crd.Spec.Versions))
		}
		document, err := builder.BuildOpenAPIV3(crd, crd.Spec.Versions[0].Name, builder.Options{})
		if err != nil {
			return nil, fmt.Errorf("build the document of %s: %w", file, err)
		}
		documents = append(documents, document)
	}
	merged, err := builder.MergeSpecsV3(documents...)
	if err != nil {
		return nil, fmt.Errorf("merge the documents of the CRDs: %w", err)
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, fmt.Errorf("write the document: %w", err)
	}
	return decode(text)
}

// decode reads a document. Numbers stay as they are written.
func decode(text []byte) (document map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("read an OpenAPI document: %w", err)
	}
	return document, nil
}

// encode writes a document with sorted keys, so that equal documents are equal texts.
func encode(document map[string]any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("write an OpenAPI document: %w", err)
	}
	return text.Bytes(), nil
}

// named lists the places below a kind whose schemas get a name, inner ones before outer ones. A place is a list of properties: * means
// any; {} means the values of a map and [] the elements of a list. A name with %s is specific to one kind; a schema with another name
// must be the same in all kinds.
func named() []struct{ name, place string } {
	return []struct{ name, place string }{
		{"SchedulingPolicy", "spec runPolicy schedulingPolicy"},
		{"RunPolicy", "spec runPolicy"},
		{"PodTemplateSpec", "spec * {} template"},
		{"ReplicaSpec", "spec * {}"},
		{"MetricSpec", "spec elasticPolicy metrics []"},
		{"RDZVConf", "spec elasticPolicy rdzvConf []"},
		{"%sElasticPolicy", "spec elasticPolicy"},
		{"%sSpec", "spec"},
		{"JobCondition", "status conditions []"},
		{"ReplicaStatus", "status replicaStatuses {}"},
		{"JobStatus", "status"},
	}
}

// condense names the schemas at the places of named, and replaces them there by references. Each name must be used at least once.
func condense(document map[string]any) error {
	schemas := schemasOf(document)
	var kinds []string
	for name, schema := range schemas {
		if _, is := schema.(map[string]any)[kindsOf]; is && strings.HasPrefix(name, prefix) {
			kinds = append(kinds, strings.TrimPrefix(name, prefix))
		}
	}
	for _, n := range named() {
		found := 0
		for _, kind := range kinds {
			name := n.name
			if strings.Contains(name, "%s") {
				name = fmt.Sprintf(name, kind)
			}
			err := at(schemas[prefix+kind], strings.Fields(n.place), func(schema map[string]any) (any, error) {
				found++
				if there := schemas[prefix+name]; there != nil && !reflect.DeepEqual(there, any(schema)) {
					return nil, fmt.Errorf("the schema of %s at %q differs from that of another kind: %s cannot be the name of both", kind, n.place, name)
				}
				schemas[prefix+name] = schema
				return map[string]any{"$ref": reference + prefix + name}, nil
			})
			if err != nil {
				return err
			}
		}
		if found == 0 {
			return fmt.Errorf("no kind has %q", n.place)
		}
	}
	condenseParameters(document)
	return nil
}

// condenseParameters gives parameters of requests their own names. One that differs from the first of its name stays in place.
func condenseParameters(document map[string]any) {
	components, parameters := document["components"].(map[string]any), map[string]any{}
	components["parameters"] = parameters
	var visit func(value any)
	visit = func(value any) {
		within, _ := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(within)) {
			list, is := within[key].([]any)
			if !is || key != "parameters" {
				visit(within[key])
				continue
			}
			for i, parameter := range list {
				name, _ := parameter.(map[string]any)["name"].(string)
				if parameters[name] == nil {
					parameters[name] = parameter
				}
				if reflect.DeepEqual(parameters[name], parameter) {
					list[i] = map[string]any{"$ref": "#/components/parameters/" + name}
				}
			}
		}
	}
	visit(document["paths"])
}

func schemasOf(document map[string]any) map[string]any {
	components, _ := document["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	return schemas
}

// parametersOf returns the parameters of a document that have a name.
func parametersOf(document map[string]any) map[string]any {
	components, _ := document["components"].(map[string]any)
	parameters, _ := components["parameters"].(map[string]any)
	return parameters
}

// at replaces each schema at a place below a schema. A missing place is skipped; a * matches every map of objects, which is how replica
// types are found.
func at(schema any, place []string, replace func(map[string]any) (any, error)) error {
	within, step := schema.(map[string]any), place[0]
	keys := []string{}
	switch properties, _ := within["properties"].(map[string]any); {
	case step == "{}":
		keys = append(keys, "additionalProperties")
	case step == "[]":
		keys = append(keys, "items")
	case step == "*":
		within = properties
		for name, property := range properties {
			values, _ := property.(map[string]any)["additionalProperties"].(map[string]any)
			if values["properties"] != nil || values["$ref"] != nil {
				keys = append(keys, name)
			}
		}
	default:
		within, keys = properties, append(keys, step)
	}
	for _, key := range keys {
		next, is := within[key].(map[string]any)
		if !is {
			continue
		}
		if len(place) > 1 {
			if err := at(next, place[1:], replace); err != nil {
				return err
			}
			continue
		}
		replacement, err := replace(next)
		if err != nil {
			return err
		}
		within[key] = replacement
	}
	return nil
}
