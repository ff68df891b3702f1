package cluster

import (
	"io"
	"strings"
	"testing"
)

// TestLongMessage: a line of any length is printed and does not end the reading. The last lines are kept.
func TestLongMessage(t *testing.T) {
	from, to := io.Pipe()
	go func() {
		_, _ = io.WriteString(to, "first\n"+strings.Repeat("x", 1<<20)+"\nlast")
		_ = to.Close()
	}()
	var c Cluster
	var printed strings.Builder
	c.print(from, &printed)
	if text := printed.String(); !strings.HasPrefix(text, "first\n") || strings.Count(text, "x") != 1<<20 || !strings.HasSuffix(text, "\nlast\n") {
		t.Errorf("%d bytes printed", len(text))
	}
	if n := len(c.tail); n == 0 || n > tailLines || c.tail[n-1] != "last" {
		t.Errorf("%d lines kept", n)
	}
}
