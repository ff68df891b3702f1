package cluster

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// steps prints one line per step, with the seconds since the start. Builds and control planes of one Start have one start.
type steps struct {
	out   io.Writer
	began time.Time
}

func (s *steps) say(format string, values ...any) {
	fmt.Fprintf(s.out, "%s\n", s.timed(fmt.Sprintf(format, values...)))
}

func (s *steps) timed(text string) string {
	return fmt.Sprintf("%6.1fs  %s", time.Since(s.began).Seconds(), text)
}

// retimed returns a line of the child, with the time since our start instead of the time since the child's. Other lines, such as those
// of a panic, remain as they are.
func (s *steps) retimed(line string) string {
	seconds, text, found := strings.Cut(strings.TrimLeft(line, " "), "s  ")
	if _, err := strconv.ParseFloat(seconds, 64); !found || err != nil {
		return line
	}
	return s.timed(text)
}
