package convert

import (
	"slices"
	"strconv"
	"strings"

	"stoic/schema"
)

const (
	// MaxPath and MaxKey bound what a message repeats of an object.
	MaxPath = 400 // bytes of a rendered path
	MaxKey  = 60  // bytes of one untrusted key in it
)

// path is a place in an object, step by step from the root. Each walk has one, which grows and shrinks with the walk. It is
// rendered only for a message.
type path []step

type step struct {
	key    string         // a field or a map key, unless at is set
	index  int            // an index into a list
	at     bool           // index counts, not key
	within map[string]any // the raw object that holds key, if that has a shape
	shape  *Shape         // the shape of that object
	kept   bool           // the value goes into the template unchanged
	hidden bool           // no message repeats the value; see Hide
}

// Path spells a path as messages do. Strings are fields and keys of maps, integers are indices.
func Path(keys ...any) string {
	p := make(path, len(keys))
	for i, key := range keys {
		p[i].key, _ = key.(string)
		p[i].index, p[i].at = key.(int)
	}
	return p.String()
}

// String spells the path as kubectl does: spec.tfReplicaSpecs.Worker.template.spec.containers[0].args[1], and
// limits["nvidia.com/gpu"] where a key is no plain word.
func (p path) String() string { return string(p.append(nil)) }

// append writes the path into b, which is empty and only lends its capacity.
func (p path) append(b []byte) []byte {
	for _, s := range p {
		switch {
		case len(b) > MaxPath:
			return append(b[:0], schema.Cut(string(b), MaxPath)...)
		case s.at:
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
		case !plainKey(s.key):
			b = append(append(append(b, '['), schema.Quote(s.key)...), ']')
		default:
			if len(b) > 0 {
				b = append(b, '.')
			}
			b = append(b, s.key...)
		}
	}
	if len(b) > MaxPath {
		b = append(b[:0], schema.Cut(string(b), MaxPath)...)
	}
	return b
}

// beside returns the path of another field of the same object, and of fields below that.
func (p path) beside(keys ...string) string {
	sibling := slices.Clone(p[:len(p)-1])
	for _, key := range keys {
		sibling = append(sibling, step{key: key})
	}
	return sibling.String()
}

// leadsTo reports whether the path ends in a field or map key of that name.
func (p path) leadsTo(key string) bool {
	return len(p) > 0 && !p[len(p)-1].at && p[len(p)-1].key == key
}

// leadsToDevices reports whether the path ends in the name of an extended resource, such as nvidia.com/gpu.
func (p path) leadsToDevices() bool {
	return len(p) > 0 && !p[len(p)-1].at && strings.Contains(p[len(p)-1].key, "/")
}

// kept reports whether the value at the path goes into the template unchanged.
func (p path) kept() bool { return len(p) > 0 && p[len(p)-1].kept }

// hidden reports whether no message may repeat the value at the path.
func (p path) hidden() bool { return len(p) > 0 && p[len(p)-1].hidden }

// argumentBefore returns the previous item if the path leads to an item of a container's args or command.
func (p path) argumentBefore() string {
	last := len(p) - 1
	if last < 1 || !p[last].at || p[last].index == 0 || p[last-1].key != "args" && p[last-1].key != "command" {
		return ""
	}
	arguments, _ := p[last-1].within[p[last-1].key].([]any)
	if p[last].index >= len(arguments) {
		return ""
	}
	before, _ := arguments[p[last].index-1].(string)
	return before
}

// plainKey reports whether a key has only letters, digits, - and _, starts with no digit or dash, and is at most MaxKey long.
func plainKey(key string) bool {
	if key == "" || len(key) > MaxKey {
		return false
	}
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
		case (c >= '0' && c <= '9' || c == '-') && i > 0:
		default:
			return false
		}
	}
	return true
}
