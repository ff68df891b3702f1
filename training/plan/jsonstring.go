package plan

import (
	"strings"
	"unicode/utf8"
)

// jsonStrings encodes strings as JSON. Long strings of one job have a common prefix, as TF_CONFIG lists all replicas in each
// replica. The prefix that all strings so far have in common is encoded only once.
type jsonStrings struct {
	shared string
	quoted []byte // shared as JSON, without the quotation mark at its end
}

// longValue is the length in bytes from which the common prefix is used.
const longValue = 256

func (q *jsonStrings) add(to []byte, value string) []byte {
	if len(value) < longValue {
		return append(to, quote(value)...)
	}
	if n := len(q.shared); n == 0 || !strings.HasPrefix(value, q.shared) || n < len(value) && !utf8.RuneStart(value[n]) {
		q.share(value) // also if what is shared ends within a character of this one
	}
	if len(q.shared) < longValue { // values that have nothing in common
		return append(to, quote(value)...)
	}
	to = append(to, q.quoted...)
	return append(to, quote(value[len(q.shared):])[1:]...)
}

// share shortens the common prefix to what a value shares with it. It ends at a whole character.
func (q *jsonStrings) share(value string) {
	n := len(value)
	if q.shared != "" {
		n = min(len(value), len(q.shared))
		for i := range n {
			if value[i] != q.shared[i] {
				n = i
				break
			}
		}
	}
	for n > 0 && n < len(value) && !utf8.RuneStart(value[n]) {
		n--
	}
	q.shared = value[:n]
	text := quote(q.shared)
	q.quoted = text[:len(text)-1]
}
