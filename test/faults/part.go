package main

import (
	"fmt"
	"hash/fnv"
)

// part is one of several parts of what is tried. All parts of one seed, on any machines, together try everything, and only the
// references more than once. The zero part is everything. It is a flag, written as 2/4.
type part struct{ number, of int }

func (p *part) String() string {
	if p.of == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", p.number, p.of)
}

// Set reads the value of the flag. It fails unless the text is I/N with 1 <= I <= N.
func (p *part) Set(text string) error {
	var read part
	if n, err := fmt.Sscanf(text, "%d/%d", &read.number, &read.of); err != nil || n != 2 || read.String() != text || read.number < 1 || read.number > read.of {
		return fmt.Errorf("I/N is wanted, such as 2/4 for the second of four parts")
	}
	*p = read
	return nil
}

// has reports whether the case of that name is in the part.
func (p part) has(name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash takes everything
	return p.takes(h.Sum32())
}

// takes reports whether the i-th item is in the part.
func (p part) takes(i uint32) bool {
	return p.of == 0 || uint64(i)%uint64(p.of) == uint64(p.number-1)
}
