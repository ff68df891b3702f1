//go:build unix

package supervise

import "os"

// inherited are files that a child holds open and never uses. Whoever reads our
// standard error sees its end only when the last child is gone too, so the end
// of the file means that nothing is left.
func inherited() []*os.File { return []*os.File{os.Stderr} }
