package lean

import "slices"

// withoutManagedFields puts null where an object says who has set which of its fields. That is half of what a job is
// written as, and no one here asks for it: it is not worth becoming maps for. Anything but an object that is written as API
// servers write it is answered as it is. data is JSON, and is not changed.
func withoutManagedFields(data []byte) []byte {
	at, end := member(data, "metadata")
	from, to := member(data[at:end], "managedFields")
	if from == to {
		return data
	}
	return slices.Concat(data[:at+from], []byte("null"), data[at+to:])
}

// member is where the value of an object's first member of that name begins and ends in JSON without spaces; twice the
// same if there is none.
func member(object []byte, name string) (from, to int) {
	for at := 1; at < len(object) && object[at] == '"'; at = to + 1 {
		colon := at + valueEnd(object[at:])
		if colon >= len(object) || object[colon] != ':' {
			return 0, 0
		}
		from = colon + 1
		to = from + valueEnd(object[from:])
		if string(object[at+1:colon-1]) == name {
			return from, to
		}
	}
	return 0, 0
}

// valueEnd is where the value ends with which JSON begins; 0 if it begins with none or is cut off.
func valueEnd(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			if !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{', c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']'):
			return i // after a number, true, false or null
		case c == '}', c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
