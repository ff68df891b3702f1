package supervise

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	tailLines = 12
	tailBytes = 32 << 10
)

// Failure tells that a child ended although nobody asked it to.
type Failure struct {
	Name   string
	Status string
	Log    string
	Tail   string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s ended early (%s); the end of %s:\n%s", f.Name, f.Status, f.Log, f.Tail)
}

// AddressInUse reports whether the child failed because somebody else took its
// port between our choice and its bind.
func (f *Failure) AddressInUse() bool {
	return strings.Contains(f.Tail, "address already in use")
}

// Tail returns the last lines of a file, or a note why it cannot be read: it
// serves messages about a failure, which must not fail themselves.
func Tail(path string, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return "(" + err.Error() + ")"
		}
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	all := bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
	all = all[max(0, len(all)-lines):]
	return string(bytes.Join(all, []byte("\n")))
}
