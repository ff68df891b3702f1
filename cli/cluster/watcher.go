package cluster

import (
	"bytes"
	"strings"
	"sync"
	"time"
)

// complaintLines is how many lines of a failed build are shown at most.
const complaintLines = 30

// watcher reads the output of "go build -v", one package path per line, and
// turns it into a few progress lines.
type watcher struct {
	steps *steps

	mutex   sync.Mutex
	rest    []byte // the beginning of a line whose end has not arrived yet
	count   int
	current string
	other   []string // lines that are no package paths
}

// Write receives the build's output.
func (w *watcher) Write(output []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.rest = append(w.rest, output...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(output), nil
		}
		w.rest = rest
		w.take(string(line))
	}
}

func (w *watcher) take(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		w.current = strings.TrimPrefix(line, "go: ")
	case strings.ContainsAny(line, " \t"):
		w.other = append(w.other, line)
		w.other = w.other[max(0, len(w.other)-complaintLines):]
	default:
		w.count++
		w.current = line
	}
}

// complaints returns the lines in which the build said what is wrong.
func (w *watcher) complaints() string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return strings.Join(append(w.other, string(w.rest)), "\n")
}

// every reports the state at each interval until the returned function is
// called.
func (w *watcher) every(interval time.Duration) (stop func()) {
	ticker := time.NewTicker(interval)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				w.mutex.Lock()
				count, current := w.count, w.current
				w.mutex.Unlock()
				w.steps.say("%d packages compiled, now at %s", count, current)
			case <-end:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(end)
		<-ended
	}
}
