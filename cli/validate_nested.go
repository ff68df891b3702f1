package cli

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"

	"stoic/schema"
)

// container is a kind of another API that holds objects which its own operator creates, and where.
type container struct {
	group, kind string
	path        []string // "*" stands for every item of a list
	text        bool     // the object is written as text there
	// named is set if the operator of the container gives the object its name.
	named bool
}

var containers = []container{
	{group: "kubeflow.org", kind: "Experiment", path: []string{"spec", "trialTemplate", "trialSpec"}, named: true}, // Katib
	{group: "workload.codeflare.dev", kind: "AppWrapper", path: []string{"spec", "components", "*", "template"}},
	{group: "workload.codeflare.dev", kind: "AppWrapper", path: []string{"spec", "resources", "GenericItems", "*", "generictemplate"}}, // v1beta1
	{group: "argoproj.io", kind: "Workflow", path: []string{"spec", "templates", "*", "resource", "manifest"}, text: true},
	{group: "argoproj.io", kind: "WorkflowTemplate", path: []string{"spec", "templates", "*", "resource", "manifest"}, text: true},
	{group: "argoproj.io", kind: "ClusterWorkflowTemplate", path: []string{"spec", "templates", "*", "resource", "manifest"}, text: true},
	{group: "argoproj.io", kind: "CronWorkflow", path: []string{"spec", "workflowSpec", "templates", "*", "resource", "manifest"}, text: true},
	{group: "", kind: "ConfigMap", path: []string{"data", "*"}, text: true},
}

// nestedJobs returns the jobs in an object of another API, at the places that containers names. Placeholders, which the operator of the
// container replaces, may stand in them: nothing is reported on lines that have one.
func nestedJobs(e entry, fields map[string]any) (found []entry) {
	apiVersion, _ := fields["apiVersion"].(string)
	group, _, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group = ""
	}
	for _, c := range containers {
		if c.group != group || c.kind != fields["kind"] {
			continue
		}
		for _, at := range e.below(c.path) {
			at.unnamed, at.host = c.named, &e.doc
			nested := []entry{at}
			if c.text {
				nested = at.documentsInText()
			}
			for _, one := range nested {
				if fields, _ := one.raw.(map[string]any); recognize(fields).ofOurAPI() {
					found = append(found, one)
				}
			}
		}
	}
	return found
}

// below returns the entries of the values that a path leads to.
func (e entry) below(path []string) []entry {
	if len(path) == 0 {
		return []entry{e}
	}
	var next []entry
	switch value := e.raw.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if path[0] == key || path[0] == "*" {
				next = append(next, e.at(joined(e.prefix, stepOf(key)), value[key]))
			}
		}
	case []any:
		for i, item := range value {
			if path[0] == "*" {
				next = append(next, e.at(fmt.Sprintf("%s[%d]", e.prefix, i), item))
			}
		}
	}
	var found []entry
	for _, one := range next {
		found = append(found, one.below(path[1:])...)
	}
	return found
}

// placeholder matches what Katib, and what Argo Workflows and Helm, replace in a text.
var placeholder = regexp.MustCompile(`\$\{trialParameters\.[^}]*\}|\{\{.*?\}\}`)

// stepOf returns a key as a step of a path.
func stepOf(key string) string {
	if key == "" || strings.ContainsAny(key, `.[]"\`) {
		return "[" + schema.Quote(key) + "]"
	}
	return key
}

// documentsInText returns the objects in a text of a document, such as a ConfigMap's value. Text that is no YAML has none. A placeholder
// is read as digits, which are a number as well as a part of a name.
func (e entry) documentsInText() (found []entry) {
	text, _ := e.raw.(string)
	if !strings.Contains(text, "kind:") && !strings.Contains(text, `"kind"`) {
		return nil
	}
	filled := placeholder.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("1", len(s)) })
	node := e.located()
	line, column := e.doc.position(placeOf(node))
	for _, doc := range documents([]byte(filled), false) {
		if isLiteral(node) {
			doc.line += line
			doc.indent = indentBelow(e.doc.text, node.Line)
		} else {
			doc.whole = &place{line: line, column: column}
		}
		inner, err := parsed(e.file, doc)
		if err != nil {
			continue
		}
		inner.host = e.host
		inner.each(func(e entry) { found = append(found, e) })
	}
	return found
}

// hasPlaceholder reports whether there is a placeholder on a line of the file, in a document that holds other objects.
func (e entry) hasPlaceholder(line int) bool {
	if e.host == nil {
		return false
	}
	lines := bytes.Split(e.host.text, []byte("\n"))
	i := line - e.host.line - 1
	return i >= 0 && i < len(lines) && placeholder.Match(lines[i])
}

// located returns the node of the entry's own value.
func (e entry) located() *yamlnode.Node {
	node := e.node
	for _, step := range stepsOf(e.prefix) {
		if _, value := child(node, step); value != nil {
			node = value
		}
	}
	return resolve(node)
}

// isLiteral reports whether the lines of a scalar are lines of its document: it is written below a "|".
func isLiteral(node *yamlnode.Node) bool {
	return node.Kind == yamlnode.ScalarNode && node.Style&yamlnode.LiteralStyle != 0
}

// indentBelow returns how many spaces precede a literal that begins after a line, which counts from 1.
func indentBelow(text []byte, line int) int {
	lines := bytes.Split(text, []byte("\n"))
	for _, l := range lines[min(line, len(lines)):] {
		if trimmed := bytes.TrimLeft(l, " "); len(bytes.TrimSpace(trimmed)) > 0 {
			return len(l) - len(trimmed)
		}
	}
	return 0
}
