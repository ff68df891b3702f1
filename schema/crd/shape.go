package main

import (
	"regexp"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// What the Go types of package training/kinds are called beyond the kind's name: TFJobObject is kind TFJob.
const typeSuffix = "Object"

// publish makes the shape that is installed: full, strict in what the project owns, lenient in what
// Kubernetes owns. A pod field that is younger than our libraries is stored, not pruned, in every
// object of a pod template; such a field reaches the pod.
func publish(crd *crdv1.CustomResourceDefinition) {
	rename(crd)
	for i := range crd.Spec.Versions {
		visit(schemaOf(crd, i), place{}, func(node *crdv1.JSONSchemaProps, at place) {
			node.Description = describe(node.Description, at)
			if at.inTemplate && node.Properties != nil {
				node.XPreserveUnknownFields = yes()
			}
		})
	}
}

// rename gives the CRD its kind, which the Go type cannot be called: that name is the Kind's function.
func rename(crd *crdv1.CustomResourceDefinition) {
	delete(crd.Annotations, "controller-gen.kubebuilder.io/version") // tools/go.mod has it
	kind := strings.TrimSuffix(crd.Spec.Names.Kind, typeSuffix)
	for i := range crd.Spec.Versions {
		root := schemaOf(crd, i)
		root.Description = strings.Replace(root.Description, crd.Spec.Names.Kind, kind, 1)
	}
	crd.Spec.Names.Kind = kind
	crd.Spec.Names.ListKind = kind + "List"
}

// formerly makes the shape that training-operator v1.9.4 installs, for tests against clusters that
// have it: unknown fields are pruned everywhere, the project's own values are hardly checked, the
// status knows no generation. The pod template is that of our Kubernetes libraries.
func formerly(crd *crdv1.CustomResourceDefinition) {
	rename(crd)
	crd.Spec.Names.ShortNames, crd.Spec.Names.Categories = nil, nil
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		version.AdditionalPrinterColumns = formerColumns(version.AdditionalPrinterColumns)
		visit(schemaOf(crd, i), place{}, func(node *crdv1.JSONSchemaProps, at place) {
			node.Description = ""
			if at.inTemplate {
				return
			}
			node.Enum, node.Minimum, node.Maximum = nil, nil, nil
			if at.path != "spec.runPolicy.schedulingPolicy.queue" {
				node.XValidations = nil
			}
			if at.path == "status" {
				delete(node.Properties, "observedGeneration")
			}
		})
	}
}

func formerColumns(columns []crdv1.CustomResourceColumnDefinition) []crdv1.CustomResourceColumnDefinition {
	var kept []crdv1.CustomResourceColumnDefinition
	for _, column := range columns {
		if column.Priority == 0 {
			kept = append(kept, column)
		}
	}
	return kept
}

// open makes a CRD that takes anything: spec and status have no type at all, so that "nonsense" and
// 7 are stored too. Tests use it for what only the converter can stop.
func open(crd *crdv1.CustomResourceDefinition) {
	formerly(crd)
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = &crdv1.JSONSchemaProps{
			Type: "object",
			Properties: map[string]crdv1.JSONSchemaProps{
				"spec":   {XPreserveUnknownFields: yes()},
				"status": {XPreserveUnknownFields: yes()},
			},
			XPreserveUnknownFields: yes(),
		}
	}
}

func yes() *bool {
	value := true
	return &value
}

func schemaOf(crd *crdv1.CustomResourceDefinition, version int) *crdv1.JSONSchemaProps {
	return crd.Spec.Versions[version].Schema.OpenAPIV3Schema
}

// place is where a node stands in a schema.
type place struct {
	path       string // spec.tfReplicaSpecs{}.template.spec.containers[]
	depth      int    // names in path
	inTemplate bool   // it is a pod template or stands in one
}

func (p place) field(name string) place {
	p.path = strings.TrimPrefix(p.path+"."+name, ".")
	p.depth++
	return p
}

func (p place) element(suffix string) place {
	p.path += suffix
	return p
}

// isOurs: the node is documented in this project, for users. What stands above spec and status is
// documented for readers of Go, or by Kubernetes.
func (p place) isOurs() bool {
	top, _, _ := strings.Cut(p.path, ".")
	return (top == "spec" || top == "status") && !p.inTemplate
}

// visit calls f for node and for all nodes below it, the upper before the lower ones.
func visit(node *crdv1.JSONSchemaProps, at place, f func(*crdv1.JSONSchemaProps, place)) {
	at.inTemplate = at.inTemplate || isPodTemplate(node)
	f(node, at)
	for name, child := range node.Properties {
		visit(&child, at.field(name), f)
		node.Properties[name] = child
	}
	if node.Items != nil && node.Items.Schema != nil {
		visit(node.Items.Schema, at.element("[]"), f)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		visit(node.AdditionalProperties.Schema, at.element("{}"), f)
	}
}

// isPodTemplate knows a pod template by its looks, so that a kind may call the field what it likes.
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

func describe(text string, at place) string {
	text = strings.Join(strings.Fields(text), " ")
	if at.isOurs() {
		return text
	}
	if at.depth > descriptionDepth {
		return ""
	}
	return shorten(firstSentence(text))
}

var sentenceEnd = regexp.MustCompile(`[.:] `)

// firstSentence is text up to the first full stop that is not one of an abbreviation.
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

// shorten cuts text between two words.
func shorten(text string) string {
	if len(text) <= descriptionLimit {
		return text
	}
	cut := strings.LastIndex(text[:descriptionLimit-2], " ")
	return strings.TrimRight(text[:max(cut, 0)], " ,;:(") + "..."
}
