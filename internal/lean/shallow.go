package lean

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// deepest is how many levels of JSON are read. A decoder accepts 10,000, so an API server stores an object of that many. It then sends it
// inside of an event or a list, one level deeper or two, and no decoder accepts that. A single such object would keep all others of its
// kind from being read. No converter looks that deep: what is there is part of a value that it rejects as too deep, or that it does not
// read at all.
const deepest = 9_000

// shallow is a filter of JSON, whole or piece by piece: an object or array below the deepest level becomes the number 0. What is not JSON
// stays invalid.
type shallow struct {
	depth           int
	quoted, escaped bool
}

// filter moves what is kept of the next piece to the start of the piece, and returns it.
func (s *shallow) filter(piece []byte) (kept []byte) {
	kept = piece[:0]
	for _, c := range piece {
		below := s.depth > deepest
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted && c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			if s.depth++; s.depth == deepest+1 {
				c, below = '0', false
			}
		case (c == '}' || c == ']') && s.depth > 0: // never more levels are closed than were opened, whatever comes
			s.depth--
		}
		if !below {
			kept = append(kept, c)
		}
	}
	return kept
}

// Shallow returns data without what is too deep; the result is then shorter. data is not changed.
func Shallow(data []byte) []byte {
	var s shallow
	return s.filter(bytes.Clone(data))
}

// shallowFrames makes events readable that no decoder would accept.
type shallowFrames struct{ runtime.Framer }

// NewFrameReader reads frames of a stream.
func (f shallowFrames) NewFrameReader(r io.ReadCloser) io.ReadCloser {
	return f.Framer.NewFrameReader(&shallowReader{ReadCloser: r})
}

type shallowReader struct {
	io.ReadCloser
	filter shallow
}

// Read returns no bytes only with an error, as a reader should.
func (r *shallowReader) Read(p []byte) (int, error) {
	for {
		n, err := r.ReadCloser.Read(p)
		if kept := len(r.filter.filter(p[:n])); kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}
