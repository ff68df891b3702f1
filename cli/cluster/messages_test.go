package cluster

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
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
	c.print(from, &steps{out: &printed})
	if text := printed.String(); !strings.HasPrefix(text, "first\n") || strings.Count(text, "x") != 1<<20 || !strings.HasSuffix(text, "\nlast\n") {
		t.Errorf("%d bytes printed", len(text))
	}
	if n := len(c.tail); n == 0 || n > tailLines || c.tail[n-1] != "last" {
		t.Errorf("%d lines kept", n)
	}
}

// TestTimesOfOneClock: a build, the wait for another one and the control plane, which has a clock of its own, print times since one start.
// A line without a time is printed as it is.
func TestTimesOfOneClock(t *testing.T) {
	var printed strings.Builder
	o := Options{Progress: &printed, Began: time.Now().Add(-time.Hour)}.withStart()
	o.steps().say("built %s", "it")
	var c Cluster
	c.print(strings.NewReader("   0.3s  etcd is ready\n  14.9s  stopped; 2.5s  more\nlocalcluster: no way\ngoroutine 1s  [running]\n"), o.steps())
	want := `^3600\.\ds  built it
3600\.\ds  etcd is ready
3600\.\ds  stopped; 2\.5s  more
localcluster: no way
goroutine 1s  \[running\]
$`
	if !regexp.MustCompile(want).MatchString(printed.String()) {
		t.Errorf("printed:\n%s", printed.String())
	}
	if kept := strings.Join(c.tail, "\n") + "\n"; !strings.HasSuffix(printed.String(), kept) {
		t.Errorf("kept:\n%s", kept)
	}
	if began := (Options{}).withStart().Began; time.Since(began) > time.Minute {
		t.Errorf("the start is %s", began)
	}
}
