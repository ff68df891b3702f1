package convert

import (
	"stoic/schema"
)

// workLimit is how many comparisons of a value with a schema one object may cost. The largest object that an API server
// takes holds half a million values.
const workLimit = 1 << 21

// compareLimit is how many unknown fields may be compared with required ones that are missing, each with each.
const compareLimit = 1 << 16

// inspection is one look at an object. Clauses of anyOf, oneOf and not are looked at by inspections of their own, which
// share the work that is left.
type inspection struct {
	*Reader
	spent *int
	// renamed are hints for fields that are missing, by path: the unknown field that was probably meant.
	renamed map[string]string
	// compared counts comparisons of an unknown field with one that is missing. Beyond compareLimit none are made.
	compared int
}

func newInspection() *inspection {
	return &inspection{Reader: NewReader(), spent: new(int), renamed: map[string]string{}}
}

// aside is an inspection that keeps what it finds to itself, or only counts it.
func (in *inspection) aside(silent bool) *inspection {
	return &inspection{Reader: &Reader{at: in.at, problems: findings{silent: silent}}, spent: in.spent, renamed: in.renamed}
}

// spend counts one comparison, and says whether it may be made.
func (in *inspection) spend() bool {
	*in.spent++
	return *in.spent <= workLimit
}

func (in *inspection) overspent() bool { return *in.spent > workLimit || in.opaques > valueLimit }

// placement is where a node stands.
type placement struct {
	root bool       // of the whole object
	keep bool       // unknown fields are kept here
	omit bool       // what is empty is as good as none
	up   *enclosing // the nearest object around; nil at the root
	// misnamed are the unknown fields of the object that were meant to be others, which are required and missing.
	misnamed map[string]string
}

// enclosing is an object with a schema on the way down.
type enclosing struct {
	node  *schemaNode
	depth int // of the path that leads to it
}

// prepare makes what an API server compares with the schema: a copy of raw without unknown fields, which it warns of,
// without nulls that nothing allows, and with defaults. A value of the wrong type is left as it is. Without a node,
// what is there has no schema.
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

// orEmpty makes an object of metadata that is null, as Go does.
func orEmpty(metadata any) any {
	if metadata == nil {
		return map[string]any{}
	}
	return metadata
}

// member prepares one field that has a schema. A null that the schema does not allow is as good as none.
func (in *inspection) member(n *schemaNode, into map[string]any, key string, value any, at placement) {
	switch {
	case at.omit && (value == nil || n.isEmpty(value)):
	case value != nil || n.nullable:
		into[key] = in.prepare(n, value, at)
	case n.initial != nil:
		into[key] = n.initial
	}
}

// isEmpty says whether a value of this type is one that Go leaves out of metadata, since there is nothing in it.
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

// elements prepares the items of a list. A null that the schema does not allow stays, and is a mistake.
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

// complete puts the defaults of what is below into a default.
func complete(n *schemaNode, raw any) any {
	in := newInspection()
	return in.prepare(n, raw, placement{keep: true})
}

// undeclared warns of a field that its object does not have: where it belongs, or else which one was meant. If that one
// is required and missing, this is reported instead.
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

// misnamed finds for each required field that is missing the one unknown field that was probably meant to be it.
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

// belongs is where a field belongs that does not belong where the walk is, if that is exactly one level away.
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
