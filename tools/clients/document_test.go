package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// expand puts the schemas and parameters that condense has named back in place.
func expand(document map[string]any) {
	components, schemas, parameters := document["components"].(map[string]any), schemasOf(document), parametersOf(document)
	named := func(name string) any {
		if schema, is := schemas[name].(map[string]any); is && strings.HasPrefix(name, prefix) && schema[kindsOf] == nil {
			return schema
		}
		return nil
	}
	var visit func(value any) any
	visit = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			ref, _ := v["$ref"].(string)
			if schema := named(strings.TrimPrefix(ref, reference)); schema != nil {
				return visit(schema)
			}
			if name, is := strings.CutPrefix(ref, "#/components/parameters/"); is {
				return parameters[name]
			}
			for key, member := range v {
				v[key] = visit(member)
			}
		case []any:
			for i := range v {
				v[i] = visit(v[i])
			}
		}
		return value
	}
	document["paths"] = visit(document["paths"])
	components["schemas"] = visit(schemas)
	for name := range schemas {
		if named(name) != nil {
			delete(schemas, name)
		}
	}
	delete(components, "parameters")
}

// TestCondense: naming repeated schemas loses nothing, and shortens the document to a quarter.
func TestCondense(t *testing.T) {
	whole, err := build(root + "/deploy/crd")
	if err != nil {
		t.Fatal(err)
	}
	text, err := encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	condensed, short, err := document(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(short)*4 > len(text) {
		t.Errorf("%d bytes of %d", len(short), len(text))
	}
	if expand(condensed); !reflect.DeepEqual(condensed, whole) {
		t.Error("the document is another one once the names are replaced by what they stand for")
	}
}

// TestCondenseRefuses: a schema that differs between kinds gets no common name, and each name must be used.
func TestCondenseRefuses(t *testing.T) {
	for _, test := range []struct{ from, to, says string }{
		{`"description": "Seconds to wait for the whole group."`, `"description": "Other."`, "cannot be the name of both"},
		{`"rdzvConf": {`, `"rendezvous": {`, `no kind has "spec elasticPolicy rdzvConf []"`},
	} {
		whole, err := build(root + "/deploy/crd")
		if err != nil {
			t.Fatal(err)
		}
		text, err := encode(whole)
		if err != nil {
			t.Fatal(err)
		}
		changed, err := decode([]byte(strings.Replace(string(text), test.from, test.to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := condense(changed); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s for %s: %v, want %q", test.to, test.from, err, test.says)
		}
	}
}

// TestDefinitions: JSON Schema for quicktype has only keywords that it knows, and no keywords of Kubernetes. A property may have the name
// of a keyword.
func TestDefinitions(t *testing.T) {
	const text = `{"components":{"schemas":{
		"org.kubeflow.v1.J":{"type":"object","x-kubernetes-group-version-kind":[],"properties":{
			"metadata":{"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],"description":"d"},
			"template":{"$ref":"#/components/schemas/org.kubeflow.v1.PodTemplateSpec"},
			"default":{"type":"string","format":"date-time","default":"x"},
			"again":{"type":"array","items":{"$ref":"#/components/schemas/org.kubeflow.v1.J"}}}},
		"org.kubeflow.v1.PodTemplateSpec":{"type":"object","description":"p","properties":{"spec":{"type":"object"}}},
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta":{"type":"object","properties":{
			"at":{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}}},
		"io.k8s.apimachinery.pkg.apis.meta.v1.Time":{"type":"string","format":"date-time"},
		"io.k8s.apimachinery.pkg.apis.meta.v1.Unused":{"type":"object"}}}}`
	const want = `{"definitions":{"J":{"properties":{"again":{"items":{"$ref":"#/definitions/J"},"type":"array"},"default":{"type":"string"},` +
		`"metadata":{"$ref":"#/definitions/ObjectMeta"},"template":{"additionalProperties":true,"description":"p","type":"object"}},"type":"object"},` +
		`"ObjectMeta":{"properties":{"at":{"type":"string"}},"type":"object"}}}`
	document, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	found, err := definitions(document)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(found); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	delete(schemasOf(document), meta+"ObjectMeta")
	if _, err := definitions(document); err == nil || !strings.Contains(err.Error(), "no schema "+meta+"ObjectMeta") {
		t.Errorf("a reference to nothing: %v", err)
	}
}
