package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedWhileItReads: a signal immediately ends a command that waits for standard input.
func TestInterruptedWhileItReads(t *testing.T) {
	for name, args := range map[string][]string{
		"validate":    {"validate", "-f", "-"},
		"convert":     {"convert", "-f", "-"},
		"certificate": {"webhook", "certificate", "-f", "-"},
		"crd check":   {"crd", "check", "-"},
	} {
		reading := make(chan struct{}, 1)
		in, end := io.Pipe() // nothing is written to it
		var out, talk bytes.Buffer
		ended := make(chan int, 1)
		go func() { ended <- Main(append([]string{"stoic"}, args...), waited{in, reading}, &out, &talk) }()
		select {
		case <-reading: // so the signal is waited for
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s does not read", name)
		}
		interrupt(t, name, ended, &out, &talk)
		_ = end.Close()
	}
}

// interrupt interrupts a command that runs in this process, and waits for its end.
func interrupt(t *testing.T, name string, ended <-chan int, out, talk *bytes.Buffer) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		if code != 130 || out.Len() > 0 || talk.String() != "error: interrupted\n" {
			t.Errorf("%s: code %d, stdout %q, stderr %q", name, code, out, talk)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s does not end", name)
	}
}

// waited is a reader that reports when it is read.
type waited struct {
	io.Reader
	reading chan<- struct{}
}

func (w waited) Read(p []byte) (int, error) {
	select {
	case w.reading <- struct{}{}:
	default:
	}
	return w.Reader.Read(p)
}

// TestManyValuesOnOneLine: memory grows linearly with the text, and lines and columns are those of the file.
func TestManyValuesOnOneLine(t *testing.T) {
	const many = 200_000 // which took 400 GB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all, ok := jsonDocuments([]byte("\n" + strings.Repeat("{} ", many) + "\n {}"))
	runtime.ReadMemStats(&after)
	t.Logf("%d bytes allocated", after.TotalAlloc-before.TotalAlloc)
	if used := after.TotalAlloc - before.TotalAlloc; !ok || len(all) != many+1 || used > 1<<30 {
		t.Fatalf("%d, %v, %d bytes", len(all), ok, used)
	}
	for at, want := range map[int][2]int{0: {2, 1}, 1: {2, 4}, many - 1: {2, 3*many - 2}, many: {3, 2}} {
		line, column := all[at].position(place{line: 1, column: 1})
		if got := [2]int{line, column}; got != want {
			t.Errorf("value %d is at %v, want %v", at, got, want)
		}
	}
	if line, column := (document{line: 4, column: 9}).position(place{line: 2, column: 3}); line != 6 || column != 3 {
		t.Errorf("the second line: %d:%d", line, column)
	}
}

// TestUnchangedDocuments: unchanged documents are printed to the byte: line ends may be part of a value.
func TestUnchangedDocuments(t *testing.T) {
	unchanged := func(end string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  text: |+\n    x" + end
	}
	for _, end := range []string{"", "\n", "\n\n\n", "\r\n\r\n"} {
		out, talk, failed := convertText([]byte(unchanged(end)), "yaml")
		if out != unchanged(end) || failed > 0 {
			t.Errorf("%q became %q: %s", unchanged(end), out, talk)
		}
		two := unchanged(end+"\n\n") + "---\n" + unchanged(end)
		if out, talk, _ := convertText([]byte(two), "yaml"); out != two {
			t.Errorf("%q became %q: %s", two, out, talk)
		}
	}
}

// TestFileNames: control characters in file names do not reach a terminal.
func TestFileNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a\x1b[2Jb\u009b.yaml")
	for _, command := range []string{"validate", "convert"} {
		var out, talk bytes.Buffer
		code := Main([]string{"stoic", command, "-f", name}, strings.NewReader(""), &out, &talk)
		if code != 2 || strings.ContainsAny(talk.String(), "\x1b\u009b") || !strings.Contains(talk.String(), "a [2Jb .yaml: no such file") {
			t.Errorf("%s: code %d, %q", command, code, talk.String())
		}
	}
	_, talk, _ := called("stoic", "validate", "-f", strings.Repeat("x", 1<<20))
	if len(talk) > 20_000 {
		t.Error(len(talk), " bytes")
	}
}
