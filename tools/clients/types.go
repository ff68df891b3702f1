package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// meta is the prefix of the names of schemas of k8s.io/apimachinery that kinds refer to.
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."

// free lists the schemas that are free objects for quicktype. For a whole pod template it would make 300 classes with invented names;
// Kubernetes' own clients have these types.
func free() []string {
	return []string{prefix + "PodTemplateSpec", prefix + "MetricSpec", meta + "FieldsV1"}
}

// definitions returns the kinds of a document and what they refer to, as JSON Schema: keywords of Kubernetes and defaults are left out,
// and times are strings.
func definitions(document map[string]any) (map[string]any, error) {
	schemas, found := schemasOf(document), map[string]any{}
	var missing error
	var convert func(value any) any
	refer := func(name string) any {
		short := strings.TrimPrefix(strings.TrimPrefix(name, prefix), meta)
		schema, is := schemas[name].(map[string]any)
		switch {
		case !is:
			missing = fmt.Errorf("the document has no schema %s", name)
		case slices.Contains(free(), name):
			return map[string]any{"type": "object", "additionalProperties": true, "description": schema["description"]}
		case schema["type"] == "string":
			return convert(schema)
		case found[short] == nil:
			found[short] = true // it may refer to itself
			found[short] = convert(schema)
		}
		return map[string]any{"$ref": "#/definitions/" + short}
	}
	convert = func(value any) any {
		switch v := value.(type) {
		case []any:
			var all []any
			for _, element := range v {
				all = append(all, convert(element))
			}
			return all
		case map[string]any:
			if name, is := v["$ref"].(string); is {
				return refer(strings.TrimPrefix(name, reference))
			}
			if parts, is := v["allOf"].([]any); is && len(parts) == 1 { // how a reference gets a description
				return convert(parts[0])
			}
			all := map[string]any{}
			for key, member := range v {
				if properties, is := member.(map[string]any); is && key == "properties" {
					named := map[string]any{}
					for name, property := range properties {
						named[name] = convert(property)
					}
					all[key] = named
				} else if key != "default" && !strings.HasPrefix(key, "x-kubernetes-") && (key != "format" || member != "date-time") {
					all[key] = convert(member)
				}
			}
			return all
		}
		return value
	}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if strings.HasPrefix(name, prefix) {
			refer(name)
		}
	}
	return map[string]any{"definitions": found}, missing
}

// aliases returns exported TypeScript types for our schemas in a document, under their own names.
func aliases(document map[string]any) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(schemasOf(document))) {
		if short, ours := strings.CutPrefix(name, prefix); ours {
			fmt.Fprintf(&text, "export type %s = components[\"schemas\"][%q];\n", short, name)
		}
	}
	return text.String()
}
