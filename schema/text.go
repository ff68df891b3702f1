package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// quoteLimit is the length in bytes at which quoted strings in messages are cut.
const quoteLimit = 60

// Quote puts an untrusted string into double quotes, cleaned and cut, with quotes and backslashes escaped.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Clean(s, quoteLimit)) + `"`
}

// Cut shortens s to at most limit bytes, at a rune boundary, and appends "..." if it was longer.
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

// isBidi reports whether a character reorders what a terminal shows.
func isBidi(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// JSON writes v in its compact form. Unlike json.Marshal it does not escape <, > and &. It is for values made of strings, numbers
// and JSON that was decoded before: these never fail to encode. For a value that fails to encode it returns null.
func JSON(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Hash returns ten hexadecimal digits that identify a value, the same in every process. They are for names and labels that change
// with the value they are made from. See JSON for the values that it can take.
func Hash(of any) string { return fmt.Sprintf("%x", sha256.Sum256(JSON(of)))[:hashLength] }

const hashLength = 10

// ShortName returns a name of at most most bytes, and a different one for each name: the name itself if it fits, otherwise its
// beginning and a hash. It is for names made from names, and for values of labels. It panics if most is less than 12: a letter, a
// hyphen and the hash would not fit.
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
