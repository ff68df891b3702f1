package lean

import (
	"bytes"
	"iter"
	"slices"
)

// withoutManagedFields replaces metadata.managedFields by null. They are half of the JSON of a job, and no one here uses them, so they
// are not worth decoding. Anything but an object that is written as API servers write it is returned as it is. data is JSON, and is not
// changed.
func withoutManagedFields(data []byte) []byte {
	at, end := member(data, "metadata")
	from, to := member(data[at:end], "managedFields")
	if from == to {
		return data
	}
	return slices.Concat(data[:at+from], []byte("null"), data[at+to:])
}

// member returns where the value of an object's first member of that name begins and ends, in JSON without spaces; both are equal if
// there is none.
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

// Elements yields the elements of an array as they are written, maybe with spaces after them. The array is JSON without spaces before it.
func Elements(array []byte) iter.Seq[[]byte] {
	const spaces = " \t\r\n"
	return func(yield func([]byte) bool) {
		for rest := array; len(rest) > 1; { // it begins with a bracket or a comma
			rest = bytes.TrimLeft(rest[1:], spaces)
			end := valueEnd(rest)
			if end == 0 || !yield(rest[:end]) {
				return
			}
			rest = bytes.TrimLeft(rest[end:], spaces)
		}
	}
}

// valueEnd returns where the value at the start of data ends; 0 if there is none or it is cut off.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			length := textEnd(data[i:])
			if length == 0 {
				return 0
			}
			if i += length - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case ',', ':':
			if depth == 0 {
				return i // after a number, true, false or null
			}
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// textEnd returns where the string ends whose quotation mark data begins with; 0 if it is cut off. A quotation mark after an odd number
// of backslashes is part of it.
func textEnd(data []byte) int {
	for i := 1; ; i++ {
		next := bytes.IndexByte(data[i:], '"')
		if next < 0 {
			return 0
		}
		i += next
		before := i
		for data[before-1] == '\\' {
			before--
		}
		if (i-before)%2 == 0 {
			return i + 1
		}
	}
}
