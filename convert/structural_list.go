package convert

import (
	"bytes"
	"slices"
	"strconv"

	"stoic/schema"
)

// list inspects the items of a list, their number, and that they are unique where they must be.
func (in *inspection) list(n *schemaNode, value []any) {
	in.amount(n.sizes, len(value), "item")
	if n.items != nil {
		for i, item := range value {
			in.EnterItem(i)
			in.inspect(n.items, item)
			in.Leave()
		}
	}
	switch {
	case n.listType == "map":
		in.entries(n, value)
	case n.listType == "set" || n.unique:
		in.again(value, func(item any) (name []byte, shown string) { return canonical(item), in.itemShown(item) })
	}
}

// again reports each item that has the name of an earlier one.
func (in *inspection) again(value []any, nameOf func(any) (name []byte, shown string)) {
	if len(value) < 2 {
		return
	}
	first := make(map[string]int, len(value))
	for i, item := range value {
		name, _ := nameOf(item)
		if at, twice := first[string(name)]; twice {
			_, shown := nameOf(item)
			in.EnterItem(i)
			in.Problem(schema.DuplicateName, shown+" again", "be unique in the list", "it is at ["+strconv.Itoa(at)+"], too")
			in.Leave()
			continue
		}
		first[string(name)] = i
	}
}

func (in *inspection) itemShown(item any) string {
	if v, ok := item.(string); ok {
		return in.quoted(v)
	}
	return in.found(item)
}

// entries checks a list of objects that are distinguished by some of their fields.
func (in *inspection) entries(n *schemaNode, value []any) {
	for _, item := range value {
		if _, ok := item.(map[string]any); !ok && item != nil {
			return // reported as a wrong type, which is all that an API server says of it
		}
	}
	in.again(value, func(item any) (name []byte, shown string) {
		fields, _ := item.(map[string]any)
		var b bytes.Buffer
		for _, field := range n.listKeys {
			v, there := fields[field]
			b.WriteString(strconv.FormatBool(there))
			b.Write(appendKey(nil, v, len(n.listKeys)-1))
			if shown != "" {
				shown += ", "
			}
			in.enterMember(fields, field)
			shown += schema.Clean(field, MaxKey) + " " + in.keyShown(v, there)
			in.Leave()
		}
		return b.Bytes(), schema.Cut(shown, wordsLimit)
	})
}

func (in *inspection) keyShown(value any, there bool) string {
	switch v := value.(type) {
	case nil:
		if !there {
			return "left out"
		}
		return "null"
	case string:
		return in.quoted(v)
	case map[string]any, []any:
		return in.found(v)
	}
	if in.hides(value) {
		return in.found(value)
	}
	return plain(value)
}

// canonical encodes a value so that equal values have equal encodings. At the top level an integer differs from a number with a
// fraction or an exponent, as it does for an API server.
func canonical(value any) []byte { return appendKey(nil, value, 0) }

func appendKey(b []byte, value any, depth int) []byte {
	if depth > schemaDepthLimit {
		return append(b, '~')
	}
	switch v := value.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return strconv.AppendQuote(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(appendKey(b, item, depth+1), ',')
		}
		return append(b, ']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b = append(b, '{')
		for _, k := range keys {
			b = append(strconv.AppendQuote(b, k), ':')
			b = append(appendKey(b, v[k], depth+1), ',')
		}
		return append(b, '}')
	}
	n, ok := numberOf(value)
	if !ok {
		return append(b, '?')
	}
	if depth == 0 && !n.whole {
		b = append(b, 'f')
	}
	return n.append(b)
}
