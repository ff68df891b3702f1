package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// visit calls f for a schema and for all below it, parents first, in order of name. Changes that f makes to a node are kept. It
// does not enter junctors: in a structural schema they describe no fields of their own.
func visit(node *crdv1.JSONSchemaProps, at string, f func(node *crdv1.JSONSchemaProps, at string)) {
	f(node, at)
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		child := node.Properties[name]
		visit(&child, member(at+".properties", name), f)
		node.Properties[name] = child
	}
	if node.Items != nil && node.Items.Schema != nil {
		visit(node.Items.Schema, at+".items", f)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		visit(node.AdditionalProperties.Schema, at+".additionalProperties", f)
	}
}

// member is the path of a key, in kubectl's spelling.
func member(at, key string) string {
	if key == "" || strings.ContainsAny(key, `.[]"\`) {
		return at + "[" + schema.Quote(key) + "]"
	}
	return at + "." + key
}

// bracketed matches a key in a path of the API server: properties[spec].
var bracketed = regexp.MustCompile(`\[([^\[\]]*)\]`)

// KubectlPath converts a path of the API server to kubectl's spelling. Indices stay in brackets.
func KubectlPath(path string) string {
	return bracketed.ReplaceAllStringFunc(path, func(step string) string {
		key := step[1 : len(step)-1]
		if key != "" && strings.Trim(key, "0123456789") == "" {
			return step
		}
		return member("", key)
	})
}
