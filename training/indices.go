package training

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// Indices is a set of replica indices from 0 to MaxReplicas-1: ranges in ascending order, with a gap between any two.
type Indices []Range

// Range is all indices from First to Last, both included.
type Range struct{ First, Last int }

// Has reports whether an index is in the set.
func (s Indices) Has(index int) bool {
	_, found := slices.BinarySearchFunc(s, index, func(r Range, index int) int {
		switch {
		case r.Last < index:
			return -1
		case r.First > index:
			return 1
		}
		return 0
	})
	return found
}

// Append returns the set with one more index, which must be above all others. It may change the receiver.
func (s Indices) Append(index int) Indices {
	if n := len(s); n > 0 && s[n-1].Last+1 == index {
		s[n-1].Last = index
		return s
	}
	return append(s, Range{index, index})
}

// Count returns the size of the set.
func (s Indices) Count() int {
	n := 0
	for _, r := range s {
		n += r.Last - r.First + 1
	}
	return n
}

const (
	// longRanges is the length in bytes above which a set is written as a bitmap if that is shorter. Ranges are easier to
	// read, but one for every other replica of the largest job would take 50 KB.
	longRanges = 1 << 10
	// bitmapMark precedes the bitmap, which is base64 of bytes; index 0 is the lowest bit of the first byte. The bitmap of
	// the largest set takes 3,334 bytes.
	bitmapMark = "bitmap:"
)

// String returns "0-3,7", or a bitmap if the ranges are long. ParseIndices reads both.
func (s Indices) String() string {
	var ranges []byte
	for i, r := range s {
		if i > 0 {
			ranges = append(ranges, ',')
		}
		ranges = strconv.AppendInt(ranges, int64(r.First), 10)
		if r.Last > r.First {
			ranges = strconv.AppendInt(append(ranges, '-'), int64(r.Last), 10)
		}
	}
	if len(ranges) > longRanges {
		if bitmap := s.bitmap(); len(bitmap) < len(ranges) {
			return bitmap
		}
	}
	return string(ranges)
}

// MarshalText returns the same text as String.
func (s Indices) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses like ParseIndices and never fails.
func (s *Indices) UnmarshalText(text []byte) error {
	*s = ParseIndices(string(text))
	return nil
}

func (s Indices) bitmap() string {
	bits := make([]byte, s[len(s)-1].Last/8+1)
	for _, r := range s {
		for i := r.First; i <= r.Last; i++ {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return bitmapMark + base64.RawStdEncoding.EncodeToString(bits)
}

// ParseIndices parses a set leniently: it skips malformed parts, cuts off indices beyond the largest one and accepts any
// order. Whatever the text, the set is in normal form.
func ParseIndices(text string) Indices {
	if encoded, is := strings.CutPrefix(text, bitmapMark); is {
		return parseBitmap(encoded)
	}
	var found []Range
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		r := Range{}
		var err error
		if r.First, err = strconv.Atoi(first); err != nil {
			continue
		}
		if r.Last = r.First; isRange {
			if r.Last, err = strconv.Atoi(last); err != nil {
				continue
			}
		}
		r.Last = min(r.Last, MaxReplicas-1)
		if r.First >= 0 && r.First <= r.Last {
			found = append(found, r)
		}
	}
	return normal(found)
}

// normal sorts ranges and joins those that overlap or touch.
func normal(ranges []Range) (s Indices) {
	slices.SortFunc(ranges, func(a, b Range) int { return a.First - b.First })
	for _, r := range ranges {
		if n := len(s); n > 0 && r.First <= s[n-1].Last+1 {
			s[n-1].Last = max(s[n-1].Last, r.Last)
		} else {
			s = append(s, r)
		}
	}
	return s
}

func parseBitmap(encoded string) (s Indices) {
	if len(encoded) > base64.RawStdEncoding.EncodedLen(MaxReplicas/8+1) {
		return nil
	}
	bits, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return nil
	}
	for i := range min(len(bits)*8, MaxReplicas) {
		if bits[i/8]&(1<<(i%8)) != 0 {
			s = s.Append(i)
		}
	}
	return s
}
