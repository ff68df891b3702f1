package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"stoic/schema"
)

// paths checks the paths of the scale subresource and of the printer columns.
func (p *problems) paths(v version) {
	if v.Subresources != nil && v.Subresources.Scale != nil {
		scale := v.Subresources.Scale
		at := v.at + ".subresources.scale."
		p.scale(v, at+"specReplicasPath", scale.SpecReplicasPath, "integer")
		p.scale(v, at+"statusReplicasPath", scale.StatusReplicasPath, "integer")
		if scale.LabelSelectorPath != nil {
			p.scale(v, at+"labelSelectorPath", *scale.LabelSelectorPath, "string")
		}
	}
	for i, column := range v.AdditionalPrinterColumns {
		if steps, ok := stepsOf(column.JSONPath); ok {
			if _, missing := follow(v.root, steps); missing != "" {
				p.add(ColumnPath, fmt.Sprintf("%s.additionalPrinterColumns[%d].jsonPath", v.at, i), schema.Quote(column.JSONPath), "name a field of the schema", "there is no "+missing)
			}
		}
	}
}

func (p *problems) scale(v version, at, path, want string) {
	steps, ok := stepsOf(path)
	if !ok || path == "" {
		return // the API server says so
	}
	node, missing := follow(v.root, steps)
	switch {
	case missing != "":
		p.add(ScalePath, at, schema.Quote(path), "name a field of the schema", "there is no "+missing)
	case node != nil && node.Type != want:
		p.add(ScalePath, at, schema.Quote(path)+", a field of type "+schema.Quote(node.Type), "name one of type "+want, "")
	}
}

// step is one step of a JSONPath: a key, or any item of a list.
type step struct {
	key  string
	item bool
}

// stepsOf parses a JSONPath that only names fields and items: .a.b, ['a'], [0], [*], [-1:], [?(...)]. ok is false for all others.
func stepsOf(path string) (steps []step, ok bool) {
	path = strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}"), "$")
	for path != "" {
		switch {
		case strings.HasPrefix(path, "['"):
			end := strings.Index(path, "']")
			if end < 0 {
				return nil, false
			}
			steps, path = append(steps, step{key: path[2:end]}), path[end+2:]
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if strings.HasPrefix(path, "[?(") {
				if end = strings.Index(path, ")]"); end >= 0 {
					end++
				}
			}
			if end < 0 {
				return nil, false
			}
			steps, path = append(steps, step{item: true}), path[end+1:]
		case path[0] == '.' && len(path) > 1 && path[1] != '.' && path[1] != '[':
			key, rest := keyOf(path[1:])
			if key == "*" {
				return nil, false
			}
			steps, path = append(steps, step{key: key}), rest
		default:
			return nil, false
		}
	}
	return steps, true
}

// keyOf reads a key up to the next step. A backslash escapes a point in the key.
func keyOf(path string) (key, rest string) {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path):
			i++
			b.WriteByte(path[i])
		case c == '.' || c == '[':
			return b.String(), path[i:]
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// follow returns the node that steps lead to from the root of a schema. Missing is the path of a step that does not exist. The node
// is nil if nothing is known of it, as below unknown fields.
func follow(node *crdv1.JSONSchemaProps, steps []step) (found *crdv1.JSONSchemaProps, missing string) {
	path := ""
	for i, s := range steps {
		switch {
		case i == 0 && slices.Contains([]string{"metadata", "apiVersion", "kind"}, s.key):
			return nil, ofMetadata(steps)
		case s.item:
			path += "[]"
			if node.Type != "array" || node.Items == nil || node.Items.Schema == nil {
				if keeps(node) {
					return nil, ""
				}
				return nil, path
			}
			node = node.Items.Schema
		default:
			path += "." + s.key
			child, ok := node.Properties[s.key]
			switch {
			case ok:
				node = &child
			case node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil:
				node = node.AdditionalProperties.Schema
			case keeps(node) || node.XEmbeddedResource || node.AdditionalProperties != nil && node.AdditionalProperties.Allows:
				return nil, ""
			default:
				return nil, path
			}
		}
	}
	return node, ""
}

// ofMetadata returns the path of a field that metadata does not have, or "".
func ofMetadata(steps []step) string {
	known := []string{"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields", "selfLink"}
	if len(steps) > 1 && steps[0].key == "metadata" && !slices.Contains(known, steps[1].key) {
		return ".metadata." + steps[1].key
	}
	return ""
}

func sorted[V any](m map[string]V) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}
