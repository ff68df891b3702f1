package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Quoted strings in messages are cut at this many bytes.
const quoteLimit = 60

// Quote puts an untrusted string into double quotes, cleaned and cut, with quotes and backslashes escaped.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Clean(s, quoteLimit)) + `"`
}

// Cut shortens s to at most limit bytes, on a rune boundary, and ends it with "..." if it was longer.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := max(limit-3, 0)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."[:min(3, max(limit, 0))]
}

// Clean makes s safe to put into status, events and logs: valid UTF-8, no control characters, one line,
// at most limit bytes.
func Clean(s string, limit int) string {
	// Cut first, with room for what replacement may add: an untrusted string can be megabytes.
	if len(s) > 4*limit {
		s = s[:4*limit]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == 0x2028 || r == 0x2029 || isBidi(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return Cut(s, limit)
}

// isBidi: characters that reorder what a terminal shows.
func isBidi(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// JSON writes v in its compact form; unlike json.Marshal it leaves <, > and & as they are. It is for values made of
// strings, numbers and JSON that was read before, which cannot fail to encode; of any other that does, it is null.
func JSON(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Hash is ten hexadecimal digits that stand for a value, the same in every process: a part of names and labels that changes with
// what they are made from. See JSON for which values it is.
func Hash(of any) string { return fmt.Sprintf("%x", sha256.Sum256(JSON(of)))[:hashLength] }

const hashLength = 10

// ShortName is a name as it is, or where it has more than so many bytes its beginning and a hash: of at most so many, and
// another one for each name. It is for names made from names, and for values of labels. It panics where so many are fewer than 12:
// a letter, a hyphen and the hash would not fit.
func ShortName(name string, most int) string {
	if most < shortest {
		panic(fmt.Sprintf("schema: ShortName of at most %d bytes, where %d is the least", most, shortest))
	}
	if len(name) <= most {
		return name
	}
	return strings.TrimLeft(strings.TrimRight(name[:most-hashLength-1], "-.")+"-"+Hash(name), "-.")
}

// shortest is the length of a letter, a hyphen and a hash.
const shortest = 1 + 1 + hashLength
