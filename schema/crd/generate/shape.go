package generate

import (
	"regexp"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// versionAnnotation holds the version of controller-gen, which tools/go.mod fixes.
const versionAnnotation = "controller-gen.kubebuilder.io/version"

// Publish makes the shape that is installed: complete, strict in what an operator owns, lenient in what Kubernetes owns. Every
// object of a pod template keeps unknown fields, so that a pod field that is newer than our libraries is stored and reaches the
// pod.
func Publish(crd *crdv1.CustomResourceDefinition) {
	if delete(crd.Annotations, versionAnnotation); len(crd.Annotations) == 0 {
		crd.Annotations = nil
	}
	for i := range crd.Spec.Versions {
		Visit(SchemaOf(crd, i), Place{}, func(node *crdv1.JSONSchemaProps, at Place) {
			node.Description = describe(node.Description, at)
			if at.InTemplate && node.Properties != nil {
				node.XPreserveUnknownFields = Yes()
			}
		})
	}
}

// Yes returns a pointer to true.
func Yes() *bool {
	value := true
	return &value
}

// SchemaOf returns the schema of a version, by its index. Every version of a generated CRD has one.
func SchemaOf(crd *crdv1.CustomResourceDefinition, version int) *crdv1.JSONSchemaProps {
	return crd.Spec.Versions[version].Schema.OpenAPIV3Schema
}

// Place is the place of a node in a schema.
type Place struct {
	Path       string // spec.tfReplicaSpecs{}.template.spec.containers[]
	Depth      int    // names in path
	InTemplate bool   // the node is a pod template or is inside one
}

func (p Place) field(name string) Place {
	p.Path = strings.TrimPrefix(p.Path+"."+name, ".")
	p.Depth++
	return p
}

func (p Place) element(suffix string) Place {
	p.Path += suffix
	return p
}

// isOurs reports whether this project documents the node, for users. Nodes above spec and status are documented for readers of Go,
// or by Kubernetes.
func (p Place) isOurs() bool {
	top, _, _ := strings.Cut(p.Path, ".")
	return (top == "spec" || top == "status") && !p.InTemplate
}

// Visit calls f for node and for all nodes below it, parents first.
func Visit(node *crdv1.JSONSchemaProps, at Place, f func(*crdv1.JSONSchemaProps, Place)) {
	at.InTemplate = at.InTemplate || isPodTemplate(node)
	f(node, at)
	for name, child := range node.Properties {
		Visit(&child, at.field(name), f)
		node.Properties[name] = child
	}
	if node.Items != nil && node.Items.Schema != nil {
		Visit(node.Items.Schema, at.element("[]"), f)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		Visit(node.AdditionalProperties.Schema, at.element("{}"), f)
	}
}

// isPodTemplate recognizes a pod template by its fields, so that a kind may give the field any name.
func isPodTemplate(node *crdv1.JSONSchemaProps) bool {
	_, containers := node.Properties["spec"].Properties["containers"]
	_, metadata := node.Properties["metadata"]
	return containers && metadata
}

// Descriptions are for `kubectl explain`. Those that are not ours are cut, because `kubectl apply`
// copies the whole CRD into an annotation, and an object's annotations hold 262144 bytes.
const (
	descriptionLimit = 120 // bytes
	descriptionDepth = 9   // names in the path; below are the fields of fields of probes and volume sources
)

func describe(text string, at Place) string {
	text = strings.Join(strings.Fields(text), " ")
	if at.isOurs() {
		return text
	}
	if at.Depth > descriptionDepth {
		return ""
	}
	return shorten(firstSentence(text))
}

var sentenceEnd = regexp.MustCompile(`[.:] `)

// firstSentence returns text up to the first full stop that does not end an abbreviation.
func firstSentence(text string) string {
	for _, end := range sentenceEnd.FindAllStringIndex(text, -1) {
		sentence := text[:end[0]+1]
		if strings.HasSuffix(sentence, ":") || isAbbreviation(sentence) {
			continue
		}
		return sentence
	}
	return text
}

func isAbbreviation(sentence string) bool {
	word := sentence[strings.LastIndex(sentence, " ")+1:]
	switch strings.TrimLeft(word, "(") {
	case "e.g.", "i.e.", "etc.", "vs.", "cf.":
		return true
	}
	return false
}

// shorten cuts text between two words if it is longer than descriptionLimit.
func shorten(text string) string {
	if len(text) <= descriptionLimit {
		return text
	}
	cut := strings.LastIndex(text[:descriptionLimit-2], " ")
	return strings.TrimRight(text[:max(cut, 0)], " ,;:(") + "..."
}
