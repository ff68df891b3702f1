package convert

import (
	"stoic/schema"
)

// workLimit is how many comparisons of a value with a schema one object may cost. The largest object that an API server accepts
// holds half a million values.
const workLimit = 1 << 21

// compareLimit bounds how many pairs of an unknown field and a missing required field are compared.
const compareLimit = 1 << 16

// inspection is one pass over an object. Each clause of anyOf, oneOf and not has an inspection of its own, which shares the
// remaining work limit.
type inspection struct {
	*Reader
	spent *int
	// renamed holds hints for missing fields, by path: the unknown field that was probably meant.
	renamed map[string]string
	// compared counts pairs of an unknown field and a missing one. Beyond compareLimit none are compared.
	compared int
}

func newInspection() *inspection {
	return &inspection{Reader: NewReader(), spent: new(int), renamed: map[string]string{}}
}

// aside returns an inspection that keeps its problems to itself, or only counts them.
func (in *inspection) aside(silent bool) *inspection {
	return &inspection{Reader: &Reader{at: in.at, problems: findings{silent: silent}}, spent: in.spent, renamed: in.renamed}
}

// spend counts one comparison, and reports whether it may be made.
func (in *inspection) spend() bool {
	*in.spent++
	return *in.spent <= workLimit
}

func (in *inspection) overspent() bool { return *in.spent > workLimit || in.opaques > valueLimit }

// placement is the place of a node.
type placement struct {
	root bool       // of the whole object
	keep bool       // unknown fields are kept here
	omit bool       // an empty value counts as absent
	up   *enclosing // the nearest object around; nil at the root
	// misnamed maps unknown fields of the object to the missing required fields that were probably meant.
	misnamed map[string]string
}

// enclosing is an object with a schema on the way down.
type enclosing struct {
	node  *schemaNode
	depth int // of the path that leads to it
}

// prepare returns what an API server compares with the schema: a copy of raw without unknown fields, of which it warns, without
// nulls that the schema does not allow, and with defaults. A value of the wrong type is unchanged. If n is nil, the value has no
// schema.
func (in *inspection) prepare(n *schemaNode, raw any, at placement) any {
	if !in.spend() {
		return nil
	}
	switch v := raw.(type) {
	case map[string]any:
		if n == nil && at.keep {
			in.opaque(v, 0)
			return v
		}
		if n == nil || n.kind == "object" || n.kind == "" && !n.intOrString {
			return in.members(n, v, at)
		}
	case []any:
		if n == nil && at.keep {
			in.opaque(v, 0)
			return v
		}
		if n == nil || n.kind == "array" || n.kind == "" && !n.intOrString {
			return in.elements(n, v, at)
		}
	default:
		if n == nil && at.keep {
			in.opaque(v, 0)
		}
	}
	return raw
}

// members prepares the fields of an object.
func (in *inspection) members(n *schemaNode, raw map[string]any, at placement) map[string]any {
	prepared := make(map[string]any, len(raw))
	if n == nil { // additionalProperties: true allows scalars, and objects without fields
		for key := range raw {
			in.Enter(key)
			in.undeclared(nil, key, at)
			in.Leave()
		}
		return prepared
	}
	below := placement{keep: at.keep || n.preserve, up: &enclosing{n, len(in.at)}}
	at.misnamed = in.misnamed(n, raw)
	for key, value := range raw {
		in.enterMember(raw, key)
		switch f := n.properties[key]; {
		case (at.root || n.embedded) && (key == "apiVersion" || key == "kind" || key == "metadata"):
			prepared[key] = value
			if key == "metadata" && !at.root {
				prepared[key] = orEmpty(in.prepare(n.metadata, value, placement{}))
			}
		case f != nil:
			in.member(f, prepared, key, value, placement{keep: f.preserve, up: below.up, omit: n.omits})
		case n.additional != nil:
			in.member(n.additional, prepared, key, value, placement{keep: n.additional.preserve, up: below.up})
		case n.open:
			prepared[key] = in.prepare(nil, value, placement{up: below.up})
		case below.keep:
			prepared[key] = in.prepare(nil, value, placement{keep: true})
		default:
			in.undeclared(n, key, at)
		}
		in.Leave()
	}
	for key, f := range n.properties {
		if _, there := prepared[key]; !there && f.initial != nil {
			prepared[key] = f.initial
		}
	}
	return prepared
}

// orEmpty replaces metadata that is null by an empty object, as Go does.
func orEmpty(metadata any) any {
	if metadata == nil {
		return map[string]any{}
	}
	return metadata
}

// member prepares one field that has a schema. A null that the schema does not allow counts as absent.
func (in *inspection) member(n *schemaNode, into map[string]any, key string, value any, at placement) {
	switch {
	case at.omit && (value == nil || n.isEmpty(value)):
	case value != nil || n.nullable:
		into[key] = in.prepare(n, value, at)
	case n.initial != nil:
		into[key] = n.initial
	}
}

// isEmpty reports whether a value of this type is empty, so that Go omits it from metadata.
func (n *schemaNode) isEmpty(value any) bool {
	switch v := value.(type) {
	case string:
		return v == "" && n.kind == "string" && n.format == ""
	case []any:
		return len(v) == 0 && n.kind == "array"
	case map[string]any:
		return len(v) == 0 && n.kind == "object"
	}
	return false
}

// elements prepares the items of a list. A null that the schema does not allow becomes the default of the item; without one it
// stays null, which is a problem.
func (in *inspection) elements(n *schemaNode, raw []any, at placement) []any {
	prepared := make([]any, len(raw))
	items, keep := (*schemaNode)(nil), at.keep
	if n != nil {
		items, keep = n.items, keep || n.preserve
	}
	below := placement{keep: keep || items != nil && items.preserve, up: at.up}
	for i, value := range raw {
		in.EnterItem(i)
		switch {
		case value == nil && items != nil && !items.nullable:
			prepared[i] = items.initial
		default:
			prepared[i] = in.prepare(items, value, below)
		}
		in.Leave()
	}
	return prepared
}

// complete adds the nested defaults to a default.
func complete(n *schemaNode, raw any) any {
	in := newInspection()
	return in.prepare(n, raw, placement{keep: true})
}

// undeclared warns of a field that its object does not have, with the place where it belongs, or else the name that was probably
// meant. If that name is a missing required field, the hint goes to that problem instead.
func (in *inspection) undeclared(n *schemaNode, key string, at placement) {
	if n == nil {
		in.Warning(schema.UnknownField, "", "", "")
		return
	}
	if missing := at.misnamed[key]; missing != "" {
		in.at[len(in.at)-1].key = missing
		in.renamed[in.at.String()] = "rename `" + schema.Clean(key, MaxKey) + "`"
		return
	}
	if in.warnings.skip(in.at) {
		return
	}
	if where := in.belongs(n, key, at); where != "" {
		in.Warning(schema.MisplacedField, "", "", "`"+schema.Clean(key, MaxKey)+"` belongs in `"+where+"`")
		return
	}
	hint := ""
	if meant, ok := schema.Nearest(key, n.names); ok {
		hint = "did you mean `" + schema.Clean(meant, MaxKey) + "`?"
	}
	in.Warning(schema.UnknownField, "", "", hint)
}

// misnamed returns, for each missing required field, the one unknown field that was probably meant.
func (in *inspection) misnamed(n *schemaNode, raw map[string]any) (meant map[string]string) {
	var missing, unknown []string
	for _, name := range n.required {
		if _, there := raw[name]; !there && n.properties[name] != nil && n.properties[name].initial == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for key := range raw {
		if n.properties[key] == nil {
			unknown = append(unknown, key)
		}
	}
	if in.compared += len(missing) * len(unknown); in.compared > compareLimit {
		return nil
	}
	for _, name := range missing {
		like, several := "", false
		for _, key := range unknown {
			if _, near := schema.Nearest(key, []string{name}); near {
				several = like != ""
				like = key
			}
		}
		if like != "" && !several {
			if meant == nil {
				meant = map[string]string{}
			}
			meant[like] = name
		}
	}
	return meant
}

// belongs returns the path where a misplaced field belongs, if that is exactly one level away.
func (in *inspection) belongs(n *schemaNode, key string, at placement) string {
	below := ""
	for _, name := range n.names {
		if f := n.properties[name]; f.kind == "object" && f.properties[key] != nil {
			if below != "" {
				below = ""
				break
			}
			below = name
		}
	}
	if below != "" {
		return in.at.beside(below)
	}
	if up := at.up; up != nil && up.depth > 0 && up.node.properties[key] != nil {
		return in.at[:up.depth].String()
	}
	return ""
}
