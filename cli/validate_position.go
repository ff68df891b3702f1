package cli

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"stoic/schema"
)

// place is a position in a document.
type place struct {
	line, column int
	// scalar is what the user wrote there, if it is a plain value: "yes" where the value is true.
	scalar *yaml.Node
}

func placeOf(node *yaml.Node) place {
	p := place{line: node.Line, column: node.Column}
	if node.Kind == yaml.ScalarNode {
		p.scalar = node
	}
	return p
}

// find follows a path from a node: to the value, or to the key if onKey is set. If the path leads to nothing, it returns the place of the
// nearest existing parent.
func find(node *yaml.Node, path string, onKey bool) place {
	found := placeOf(node)
	steps := stepsOf(path)
	for i, step := range steps {
		key, value := child(node, step)
		if value == nil {
			return place{line: found.line, column: found.column}
		}
		node, found = value, placeOf(value)
		last := i == len(steps)-1
		if key != nil && (last && onKey || !last && value.Kind == yaml.MappingNode) {
			// An object in block style begins at its first key; its own key says more.
			found.line, found.column = key.Line, key.Column
		}
	}
	return found
}

// child returns what a step leads to; key is nil for items of lists. Aliases are resolved.
func child(node *yaml.Node, step string) (key, value *yaml.Node) {
	node = resolve(node)
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && i >= 0 && i < len(node.Content) {
			return nil, resolve(node.Content[i])
		}
	case yaml.MappingNode:
		for i := len(node.Content) - 2; i >= 0; i -= 2 { // of two equal keys the last one counts
			if key := node.Content[i]; spells(key, step) {
				return key, resolve(node.Content[i+1])
			}
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Tag == "!!merge" {
				if key, value := merged(node.Content[i+1], step); value != nil {
					return key, value
				}
			}
		}
	}
	return nil, nil
}

// merged looks for a step in what a merge key ("<<") includes: one object, or several. It does not look for merge keys within these: they
// are rare, and missing them costs only the exact position.
func merged(from *yaml.Node, step string) (key, value *yaml.Node) {
	from = resolve(from)
	objects := from.Content
	if from.Kind == yaml.MappingNode {
		objects = []*yaml.Node{from}
	}
	for _, object := range objects {
		object = resolve(object)
		for i := 0; object.Kind == yaml.MappingNode && i+1 < len(object.Content); i += 2 {
			if spells(object.Content[i], step) {
				return object.Content[i], resolve(object.Content[i+1])
			}
		}
	}
	return nil, nil
}

// resolve follows an alias. One step is enough: YAML has no alias of an alias.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	if node.Kind == yaml.DocumentNode && len(node.Content) > 0 {
		return node.Content[0]
	}
	return node
}

// spells reports whether a key is the one that a step of a path means. A path cleans and cuts the keys that it quotes, and YAML 1.1 reads
// some words as true and false.
func spells(key *yaml.Node, step string) bool {
	if quoted, ok := strings.CutPrefix(step, "["); ok {
		return schema.Quote(key.Value)+"]" == quoted
	}
	if key.Value == step {
		return true
	}
	return truth(key) == step && step != ""
}

// truth returns the key that YAML 1.1 makes of an unquoted word: "true" for yes, "false" for no. It is empty for keys that stay
// unchanged.
func truth(key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode || key.Style != 0 {
		return ""
	}
	switch key.Value {
	case "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "True", "TRUE":
		return "true"
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF", "False", "FALSE":
		return "false"
	}
	return ""
}

// stepsOf splits a path: spec, containers, [0], ["a.b/c"].
func stepsOf(path string) []string {
	var steps []string
	for path != "" {
		end := len(path)
		switch {
		case strings.HasPrefix(path, `["`):
			if end = closing(path); end < 0 {
				return steps // cut short
			}
		case path[0] == '[':
			end = strings.IndexByte(path, ']') + 1
			if end == 0 {
				return steps
			}
		default:
			if at := strings.IndexAny(path, ".["); at >= 0 {
				end = at
			}
		}
		steps = append(steps, path[:end])
		path = strings.TrimPrefix(path[end:], ".")
	}
	return steps
}

// closing returns the end of ["..."] at the start of path, in which quotes are escaped; -1 if there is none.
func closing(path string) int {
	for i := 2; i+1 < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '"':
			if path[i+1] == ']' {
				return i + 2
			}
		}
	}
	return -1
}

// longestPath is how many bytes of a path a message has at most.
const longestPath = 400

// keys visits every key of every object below node, with its path, in the order of the text. Again reports that the same key occurs
// before it in the same object. A path is cut at every step: else nested long keys would need memory that grows with the square of their
// number.
func keys(node *yaml.Node, path string, visit func(path string, key *yaml.Node, again bool)) {
	switch node.Kind {
	case yaml.DocumentNode:
		for _, item := range node.Content {
			keys(item, path, visit)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			keys(item, schema.Cut(path+"["+strconv.Itoa(i)+"]", longestPath), visit)
		}
	case yaml.MappingNode:
		seen := make(map[string]bool, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			at := schema.Cut(strings.TrimPrefix(path+"."+schema.Clean(key.Value, 60), "."), longestPath)
			visit(at, key, seen[key.Value] && key.Tag != "!!merge")
			seen[key.Value] = true
			keys(node.Content[i+1], at, visit)
		}
	}
}
