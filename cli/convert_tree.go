package cli

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yamlnode "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"stoic/training/versions/offline"
)

// rewritten writes a value as YAML in place of a document. Unchanged parts keep their order, comments and style; moved parts keep their
// comments. Kept is false if that is not possible; then the text has no comments, and sorted keys.
func rewritten(e entry, value any, moved []offline.Moved) (text []byte, kept bool, err error) {
	if text, err := inPlace(e, value, moved); err == nil {
		return text, true, nil
	}
	text, err = yaml.Marshal(value)
	return text, false, err
}

// errNotKept: the text that keeps the comments does not have the required content.
var errNotKept = errors.New("the text in place says something else")

func inPlace(e entry, value any, moved []offline.Moved) ([]byte, error) {
	if e.node.Kind != yamlnode.DocumentNode || bytes.HasPrefix(bytes.TrimSpace(e.doc.text), []byte("{")) {
		return nil, errNotKept // JSON looks like nothing in the place of YAML
	}
	room := maxNodes
	root := expanded(resolve(e.node), &room)
	if room < 0 {
		return nil, errNotKept
	}
	r := rewrite{from: map[string]string{}, to: map[string][]string{}, source: e.raw, root: root}
	for _, m := range moved {
		r.from[m.To] = m.From
		r.to[m.From] = append(r.to[m.From], m.To)
	}
	document := *e.node
	document.Content = []*yamlnode.Node{r.node(value, "", spot{value: e.raw, node: root})}
	var b bytes.Buffer
	encoder := yamlnode.NewEncoder(&b)
	encoder.SetIndent(2)
	if compact(root) {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(&document); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	read, err := fromYAML(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("read what was written: %w", err)
	}
	if !reflect.DeepEqual(read, value) {
		return nil, errNotKept
	}
	return b.Bytes(), nil
}

// rewrite makes the nodes of a value from those of a document.
type rewrite struct {
	from   map[string]string   // former path of a moved value, by its new path
	to     map[string][]string // new paths, by the former path
	source any
	root   *yamlnode.Node
}

// spot is a value of the document with its nodes; node is nil if the document has no value there.
type spot struct {
	value     any
	key, node *yamlnode.Node
}

// node returns the node of a value at a path; was is the former value in its place.
func (r *rewrite) node(value any, path string, was spot) *yamlnode.Node {
	if was.node != nil && reflect.DeepEqual(value, was.value) {
		return was.node
	}
	var made *yamlnode.Node
	switch v := value.(type) {
	case map[string]any:
		made = r.mapping(v, path, was)
	case []any:
		made = &yamlnode.Node{Kind: yamlnode.SequenceNode}
		for i, item := range v {
			step := fmt.Sprintf("[%d]", i)
			made.Content = append(made.Content, r.node(item, path+step, r.spotOf(path+step, was, step)))
		}
	default:
		made = &yamlnode.Node{}
		if err := made.Encode(v); err != nil {
			made.Kind, made.Tag = yamlnode.ScalarNode, "!!null" // found out when it is read again
		}
	}
	if was.node != nil {
		made.HeadComment, made.LineComment, made.FootComment = was.node.HeadComment, was.node.LineComment, was.node.FootComment
		if made.Kind == was.node.Kind && made.Kind != yamlnode.ScalarNode {
			made.Style = was.node.Style
		}
	}
	return made
}

// mapping keeps existing keys in their order. A new key is placed where the first of the values that moved into it was, else at the end.
func (r *rewrite) mapping(value map[string]any, path string, was spot) *yamlnode.Node {
	made := &yamlnode.Node{Kind: yamlnode.MappingNode}
	done, index := map[string]bool{}, indexOf(was.node)
	add := func(key string) {
		if _, ok := value[key]; !ok || done[key] {
			return
		}
		done[key] = true
		at := strings.TrimPrefix(path+"."+key, ".")
		of := r.member(at, was, key, index)
		name := &yamlnode.Node{}
		_ = name.Encode(key) // a string can be written
		if of.key != nil {
			name.HeadComment, name.LineComment, name.FootComment = of.key.HeadComment, of.key.LineComment, of.key.FootComment
			if truth(of.key) == key || of.key.Value == key {
				name.Style, name.Tag, name.Value = of.key.Style, of.key.Tag, of.key.Value
			}
		}
		made.Content = append(made.Content, name, r.node(value[key], at, of))
	}
	fields, _ := was.value.(map[string]any)
	fresh := slices.DeleteFunc(slices.Sorted(maps.Keys(value)), func(key string) bool { _, old := fields[key]; return old })
	if was.node != nil && was.node.Kind == yamlnode.MappingNode {
		for i := 0; i+1 < len(was.node.Content); i += 2 {
			key := keyOf(was.node.Content[i])
			add(key)
			for _, new := range fresh {
				if r.into(strings.TrimPrefix(path+"."+new, "."), strings.TrimPrefix(path+"."+key, ".")) {
					add(new)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		add(key)
	}
	return made
}

// into reports whether something that was at the path stood has moved to a path or below it.
func (r *rewrite) into(path, stood string) bool {
	return slices.ContainsFunc(r.to[stood], func(to string) bool { return to == path || strings.HasPrefix(to, path+".") })
}

// indexOf returns the positions of an object's keys in the content of its node. The last of two equal keys counts.
func indexOf(node *yamlnode.Node) map[string]int {
	if node == nil || node.Kind != yamlnode.MappingNode {
		return nil
	}
	index := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		index[keyOf(node.Content[i])] = i
	}
	return index
}

// spotOf returns the former value for a path: that from which it moved, else the same step below the former parent.
func (r *rewrite) spotOf(path string, above spot, step string) spot {
	if from, ok := r.from[path]; ok {
		at := spot{value: r.source, node: r.root}
		for _, step := range stepsOf(from) {
			at = below(at, step)
		}
		return at
	}
	return below(above, step)
}

// member is spotOf for a key of an object whose index is known.
func (r *rewrite) member(path string, above spot, key string, index map[string]int) spot {
	fields, _ := above.value.(map[string]any)
	if _, moved := r.from[path]; moved {
		return r.spotOf(path, above, key)
	}
	if i, ok := index[key]; ok && fields != nil {
		return spot{fields[key], above.node.Content[i], above.node.Content[i+1]}
	}
	return spot{}
}

// below returns a member of an object, or an item of a list, with its nodes.
func below(above spot, step string) (found spot) {
	if above.node == nil {
		return spot{}
	}
	switch v := above.value.(type) {
	case map[string]any:
		if i, ok := indexOf(above.node)[step]; ok {
			return spot{v[step], above.node.Content[i], above.node.Content[i+1]}
		}
	case []any:
		i, err := strconv.Atoi(strings.Trim(step, "[]"))
		if err == nil && i >= 0 && i < len(v) && above.node.Kind == yamlnode.SequenceNode && i < len(above.node.Content) {
			return spot{v[i], nil, above.node.Content[i]}
		}
	}
	return spot{}
}

// keyOf returns a key as it is in JSON.
func keyOf(key *yamlnode.Node) string {
	if word := truth(key); word != "" {
		return word
	}
	return key.Value
}

// maxNodes bounds the size of a tree whose aliases are expanded.
const maxNodes = 1 << 20

// expanded returns a tree without anchors and aliases, in which merge keys ("<<") are written out. Room counts the nodes that may still
// be added, and is negative if they were too few.
func expanded(node *yamlnode.Node, room *int) *yamlnode.Node {
	if *room--; *room < 0 {
		return node
	}
	node = resolve(node)
	copied := *node
	copied.Anchor, copied.Content = "", nil
	for i := 0; i < len(node.Content) && *room >= 0; i++ {
		if node.Kind == yamlnode.MappingNode && i%2 == 0 && node.Content[i].Tag == "!!merge" && i+1 < len(node.Content) {
			copied.Content = append(copied.Content, taken(node, node.Content[i+1], room)...)
			i++
			continue
		}
		copied.Content = append(copied.Content, expanded(node.Content[i], room))
	}
	return &copied
}

// taken returns the keys and values that an object merges in, except those that it has itself.
func taken(object, from *yamlnode.Node, room *int) (all []*yamlnode.Node) {
	have := map[string]bool{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		have[object.Content[i].Value] = true
	}
	objects := []*yamlnode.Node{from}
	if resolve(from).Kind == yamlnode.SequenceNode {
		objects = resolve(from).Content
	}
	for _, one := range objects {
		one = expanded(one, room)
		for i := 0; i+1 < len(one.Content) && one.Kind == yamlnode.MappingNode; i += 2 {
			if key := one.Content[i].Value; !have[key] {
				have[key] = true
				all = append(all, one.Content[i], one.Content[i+1])
			}
		}
	}
	return all
}

// compact reports whether the items of lists begin in the column of the list's key, the usual style.
func compact(node *yamlnode.Node) bool {
	for i, below := range node.Content {
		if node.Kind == yamlnode.MappingNode && i%2 == 1 && below.Kind == yamlnode.SequenceNode && below.Style&yamlnode.FlowStyle == 0 && len(below.Content) > 0 {
			return below.Column == node.Content[i-1].Column
		}
	}
	return slices.ContainsFunc(node.Content, compact)
}
