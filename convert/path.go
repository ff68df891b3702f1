package convert

import (
	"strconv"

	"stoic/schema"
)

const (
	pathLimit = 400 // bytes of a rendered path
	keyLimit  = 60  // bytes of one untrusted key in it
)

// path is a place in an object: a chain of steps from the root. The steps live on the stack of the walk and
// nothing is rendered until there is something to tell, so a sound object costs no path at all.
type path struct {
	parent *path
	key    string         // a field or a map key, unless at is set
	index  int            // an index into a list
	at     bool           // index counts, not key
	within map[string]any // the raw object that holds key
	shape  *shape         // the shape of that object
}

// root is the path that begins with one field of the object.
func root(key string) path { return path{key: key} }

func (p *path) field(key string) path { return path{parent: p, key: key} }
func (p *path) item(index int) path   { return path{parent: p, index: index, at: true} }

// String spells the path as kubectl does: spec.tfReplicaSpecs.Worker.template.spec.containers[0].args[1],
// and limits["nvidia.com/gpu"] where a key is no plain word.
func (p *path) String() string {
	var steps []*path
	for s := p; s != nil; s = s.parent {
		steps = append(steps, s)
	}
	var text []byte
	for i := len(steps) - 1; i >= 0 && len(text) <= pathLimit; i-- {
		switch s := steps[i]; {
		case s.at:
			text = strconv.AppendInt(append(text, '['), int64(s.index), 10)
			text = append(text, ']')
		case !plainKey(s.key):
			text = append(append(append(text, '['), schema.Quote(s.key)...), ']')
		default:
			if len(text) > 0 {
				text = append(text, '.')
			}
			text = append(text, s.key...)
		}
	}
	return schema.Cut(string(text), pathLimit)
}

// has says whether the path passes through a field of that name.
func (p *path) has(key string) bool {
	for s := p; s != nil; s = s.parent {
		if !s.at && s.key == key {
			return true
		}
	}
	return false
}

// plainKey: letters, digits, - and _, not starting with a digit or a dash, of sensible length.
func plainKey(key string) bool {
	if key == "" || len(key) > keyLimit {
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

// kept says whether what is at p goes into the template as it is.
func (p *path) kept() bool {
	for s := p; s != nil; s = s.parent {
		if s.shape == nil {
			continue
		}
		if f := s.shape.fields[s.key]; f != nil && f.kept {
			return true
		}
	}
	return false
}
