package convert

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// encodeLimit is a depth that no checked value reaches. It makes the encoder total.
const encodeLimit = 2 * MaxDepth

// Encoder writes values as compact JSON with sorted keys. Unlike encoding/json it cannot fail, keeps every integer exact, does not
// escape <, > and &, and does not allocate per value. A value that is not JSON becomes null.
type Encoder struct {
	keys keyring
	room []byte
}

// encoders pools encoders, whose buffers have grown to the size of templates.
var encoders = sync.Pool{New: func() any { return new(Encoder) }}

// Limits of what an encoder keeps between two objects.
const (
	roomLimit   = 64 << 10 // bytes
	memberLimit = 1 << 10
)

// LendEncoder returns an encoder from the pool; GiveBack returns it to the pool.
func LendEncoder() *Encoder {
	e, _ := encoders.Get().(*Encoder)
	return e
}

// GiveBack ends the use of a lent encoder and clears it.
func (e *Encoder) GiveBack() {
	if cap(e.room) > roomLimit || cap(e.keys.members) > memberLimit {
		return
	}
	clear(e.keys.members[:cap(e.keys.members)])
	e.keys.members = e.keys.members[:0] // also after a panic in between
	encoders.Put(e)
}

// Encode returns raw as JSON, which is valid until the next call.
func (e *Encoder) Encode(raw any) []byte {
	e.room = e.value(e.room[:0], raw, 0)
	return e.room
}

// EncodeAll is Encode without a limit of depth. The caller knows that the depth is bounded, as decoders make it.
func (e *Encoder) EncodeAll(raw any) []byte {
	e.room = e.value(e.room[:0], raw, math.MinInt)
	return e.room
}

func (e *Encoder) value(b []byte, raw any, depth int) []byte {
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

func (e *Encoder) object(b []byte, raw map[string]any, depth int) []byte {
	b = append(b, '{')
	members := e.keys.take(raw)
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, m.key), ':')
		b = e.value(b, m.value, depth+1)
	}
	e.keys.release(members)
	return append(b, '}')
}

// quote appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD, as everywhere in JSON.
func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for {
		end := 0 // of what needs no escape
		for end < len(s) && plainByte[s[end]] {
			end++
		}
		b = append(b, s[:end]...)
		if end == len(s) {
			return append(b, '"')
		}
		s = s[end:]
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(b, "\uFFFD"...)
		case r >= utf8.RuneSelf:
			b = append(b, s[:size]...)
		default:
			b = escape(b, s[0])
		}
		s = s[size:]
	}
}

// plainByte holds the ASCII characters that need no escape in a JSON string.
var plainByte = func() (plain [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

func escape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// keyring sorts the members of all objects in one shared array.
type keyring struct{ members []member }

type member struct {
	key   string
	value any
}

// take returns the members of raw, sorted by key. They are released in reverse order.
func (k *keyring) take(raw map[string]any) []member {
	start := len(k.members)
	k.members = slices.Grow(k.members, len(raw))
	for key, value := range raw {
		k.members = append(k.members, member{key, value})
	}
	taken := k.members[start:]
	if len(taken) > fewMembers {
		slices.SortFunc(taken, func(a, b member) int { return strings.Compare(a.key, b.key) })
		return taken
	}
	for i := 1; i < len(taken); i++ {
		for j := i; j > 0 && taken[j].key < taken[j-1].key; j-- {
			taken[j], taken[j-1] = taken[j-1], taken[j]
		}
	}
	return taken
}

// fewMembers is up to how many members an insertion sort is faster than slices.SortFunc.
const fewMembers = 16

// release gives back the members that were taken last.
func (k *keyring) release(taken []member) { k.members = k.members[:len(k.members)-len(taken)] }
