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
	visitUnless(node, at, func(*crdv1.JSONSchemaProps) bool { return false }, f)
}

// visitOwn is visit without what is embedded from Kubernetes' own types, which the author of a definition does not write.
func visitOwn(node *crdv1.JSONSchemaProps, at string, f func(node *crdv1.JSONSchemaProps, at string)) {
	visitUnless(node, at, isEmbedded, f)
}

func visitUnless(node *crdv1.JSONSchemaProps, at string, passOver func(*crdv1.JSONSchemaProps) bool, f func(node *crdv1.JSONSchemaProps, at string)) {
	if passOver(node) {
		return
	}
	f(node, at)
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		child := node.Properties[name]
		visitUnless(&child, member(at+".properties", name), passOver, f)
		node.Properties[name] = child
	}
	if node.Items != nil && node.Items.Schema != nil {
		visitUnless(node.Items.Schema, at+".items", passOver, f)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		visitUnless(node.AdditionalProperties.Schema, at+".additionalProperties", passOver, f)
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
