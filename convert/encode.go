package convert

import "unicode/utf8"

// encodeLimit is a depth that no checked value reaches; it keeps the encoder total.
const encodeLimit = 2 * depthLimit

// encode appends raw as compact JSON with sorted keys. Unlike encoding/json it cannot fail, keeps every
// integer exact, leaves <, > and & as they are, and does not allocate per value. What is not JSON becomes null.
func encode(b []byte, raw any) []byte {
	e := encoder{}
	return e.value(b, raw, 0)
}

type encoder struct{ keys keyring }

func (e *encoder) value(b []byte, raw any, depth int) []byte {
	if depth > encodeLimit {
		return append(b, "null"...)
	}
	switch v := raw.(type) {
	case string:
		return quote(b, v)
	case bool:
		if v {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	case map[string]any:
		return e.object(b, v, depth)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.value(b, item, depth+1)
		}
		return append(b, ']')
	}
	if n, ok := numberOf(raw); ok && n.finite() {
		return n.append(b)
	}
	return append(b, "null"...)
}

func (e *encoder) object(b []byte, raw map[string]any, depth int) []byte {
	b = append(b, '{')
	for i, key := range e.keys.take(raw) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, key), ':')
		b = e.value(b, raw[key], depth+1)
	}
	e.keys.release(raw)
	return append(b, '}')
}

// quote appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, as everywhere in JSON.
func quote(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0 // s[from:i] needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		if c < ' ' || c == '"' || c == '\\' {
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			from = i + 1
		}
		i++
	}
	return append(append(b, s[from:]...), '"')
}
