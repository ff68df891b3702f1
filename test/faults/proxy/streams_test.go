package proxy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// watching is an open watch of the operator.
type watching struct {
	lines chan string
	err   chan error // how it ended; nil: normally
}

// begin opens a watch and waits until the proxy counts it.
func begin(t *testing.T, c *http.Client, p *Proxy, path string) *watching {
	t.Helper()
	n := p.Streams().Open("pods")
	response, err := c.Get(p.address() + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	w := &watching{lines: make(chan string, 1000), err: make(chan error, 1)}
	go func() {
		scanner := bufio.NewScanner(response.Body)
		for scanner.Scan() {
			w.lines <- scanner.Text()
		}
		close(w.lines)
		w.err <- scanner.Err()
	}()
	await(t, "the watch", func() bool { return p.Streams().Open("pods") == n+1 })
	return w
}

// event returns a frame about a pod.
func event(kind, name string, version int) string {
	return fmt.Sprintf(`{"type":%q,"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":"%d"}}}`, kind, name, version)
}

// brief formats a frame as "ADDED job-0 5".
func brief(line string) string {
	f, err := newFrame([]byte(line))
	if err != nil {
		return "unreadable " + line
	}
	if f.kind == failure {
		var s struct{ Object struct{ Reason string } }
		_ = json.Unmarshal(f.raw, &s)
		return f.kind + " " + s.Object.Reason
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", f.kind, f.Metadata.Name, f.Metadata.ResourceVersion))
}

// tells expects these events next.
func (w *watching) tells(t *testing.T, want ...string) {
	t.Helper()
	for _, one := range want {
		select {
		case line, ok := <-w.lines:
			if got := brief(line); !ok || got != one {
				t.Fatalf("told %q (%t), not %q", got, ok, one)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("not told %q", one)
		}
	}
}

// silent expects no event, although the proxy has read all that it was sent.
func (w *watching) silent(t *testing.T, p *Proxy, parked int) {
	t.Helper()
	await(t, fmt.Sprintf("%d events to be parked", parked), func() bool {
		s := p.Streams()
		s.mu.Lock()
		defer s.mu.Unlock()
		for st := range s.open {
			return len(st.queue) == parked
		}
		return false
	})
	select {
	case line := <-w.lines:
		t.Fatalf("told %q", brief(line))
	default:
	}
}

func (w *watching) mustEnd(t *testing.T)   { t.Helper(); w.over(t, false) }
func (w *watching) mustBreak(t *testing.T) { t.Helper(); w.over(t, true) }

func (w *watching) over(t *testing.T, broken bool) {
	t.Helper()
	severed := false
	for line := range w.lines {
		if _, err := newFrame([]byte(line)); err == nil || severed {
			t.Errorf("told %q", brief(line))
		}
		severed = true
	}
	if err := <-w.err; (err != nil || severed) != broken {
		t.Errorf("it ended with %v, in the middle of an event: %t", err, severed)
	}
}

func TestHold(t *testing.T) {
	s, p := newStub(t)
	client := operator(t, p)
	w := begin(t, client, p, pods+"?watch=true")
	s.tell <- event("ADDED", "job-0", 5)
	w.tells(t, "ADDED job-0 5")
	p.Streams().Hold("pods")
	s.tell <- event("MODIFIED", "job-0", 6)
	s.tell <- event("BOOKMARK", "", 7)
	w.silent(t, p, 2)
	p.Streams().Hold("services")
	p.Streams().Release("services")
	w.silent(t, p, 2)
	p.Streams().Release("pods")
	w.tells(t, "MODIFIED job-0 6", "BOOKMARK  7")
	close(s.tell)
	w.mustEnd(t)
}

func TestCutAndGone(t *testing.T) {
	s, p := newStub(t)
	client := operator(t, p)
	w := begin(t, client, p, pods+"?watch=true")
	s.tell <- event("ADDED", "job-0", 5)
	w.tells(t, "ADDED job-0 5")
	p.Streams().Cut("services")
	p.Streams().Gone("services")
	s.tell <- event("MODIFIED", "job-0", 6)
	w.tells(t, "MODIFIED job-0 6")
	p.Streams().Cut("pods")
	w.mustBreak(t)
	w = begin(t, client, p, pods+"?watch=true")
	p.Streams().Gone("pods")
	w.tells(t, "ERROR Expired")
	w.mustEnd(t)
	await(t, "no watch", func() bool { return p.Streams().Open("pods") == 0 })
}

// TestBroken: a watch that breaks at the API server breaks at the operator, after all events were delivered.
func TestBroken(t *testing.T) {
	s, p := newStub(t)
	w := begin(t, operator(t, p), p, pods+"?watch=true")
	p.Streams().Hold("pods")
	s.tell <- event("ADDED", "job-0", 5)
	w.silent(t, p, 1)
	s.CloseClientConnections()
	p.Streams().Release("pods")
	w.tells(t, "ADDED job-0 5")
	w.mustBreak(t)
}

func TestBookmarks(t *testing.T) {
	s, p := newStub(t)
	w := begin(t, operator(t, p), p, pods+"?watch=true&sendInitialEvents=true")
	p.Streams().DropBookmarks(true)
	s.tell <- event("BOOKMARK", "", 5)
	s.tell <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}}`
	s.tell <- event("BOOKMARK", "", 7)
	s.tell <- event("ADDED", "job-0", 8)
	w.tells(t, "BOOKMARK  6", "ADDED job-0 8")
	p.Streams().DropBookmarks(false)
	s.tell <- event("BOOKMARK", "", 9)
	w.tells(t, "BOOKMARK  9")
}

func TestRefuseWatchList(t *testing.T) {
	s, p := newStub(t)
	client := operator(t, p)
	p.Streams().RefuseWatchList(true)
	if got := ask(t, client, p, "GET", pods+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", ""); got.Code != 400 {
		t.Errorf("told %+v", got)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d reached the API server", n)
	}
	begin(t, client, p, pods+"?watch=true&resourceVersion=5")
	lists := p.Lists()
	if len(lists) != 2 || lists[0].Code != 400 || lists[0].Query.Get("sendInitialEvents") != "true" || lists[1].Code != 200 {
		t.Errorf("lists are %+v", lists)
	}
}

func TestSkip(t *testing.T) {
	for name, c := range map[string]struct {
		from, to int
		events   []string
		want     []string
		atLeast  time.Duration
	}{
		"one":     {2, 2, []string{"job-0", "x", "job-0", "x"}, []string{"ADDED job-0 1", "ADDED x 2"}, quiet},
		"window":  {1, 3, []string{"x", "job-0", "job-1", "job", "jobs"}, []string{"ADDED x 1"}, quiet},
		"no end":  {1, 9, []string{"job-0", "job-0", "x"}, nil, longest},
		"later":   {2, 2, []string{"job-0", "x", "y"}, []string{"ADDED job-0 1", "ADDED x 2", "ADDED y 3"}, -1},
		"foreign": {1, 1, []string{"jobs-0"}, []string{"ADDED jobs-0 1"}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newStub(t)
			w := begin(t, operator(t, p), p, pods+"?watch=true&sendInitialEvents=true")
			p.Streams().Skip("pods", "job", c.from, c.to)
			s.tell <- event("ADDED", "job-0", 1) // initial: does not count
			s.tell <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}`
			w.tells(t, "ADDED job-0 1", "BOOKMARK  1")
			began := time.Now()
			for i, name := range c.events {
				s.tell <- event("ADDED", name, i+1)
			}
			w.tells(t, c.want...)
			if c.atLeast < 0 {
				if p.Streams().Skipped() {
					t.Error("it says that it skipped")
				}
				return
			}
			s.tell <- event("BOOKMARK", "", 50)
			w.tells(t, "ERROR Expired")
			w.mustEnd(t)
			if took := time.Since(began); took < c.atLeast || !p.Streams().Skipped() {
				t.Errorf("after %v, skipped: %t", took, p.Streams().Skipped())
			}
			again := begin(t, operator(t, p), p, pods+"?watch=true&resourceVersion=9")
			s.tell <- event("ADDED", "job-0", 60)
			again.tells(t, "ADDED job-0 60")
		})
	}
}

// TestSkipBusy: in a watch that is never quiet, a skip ends two seconds after the last event of the window.
func TestSkipBusy(t *testing.T) {
	now := time.Now()
	k := &skip{resource: "pods", subject: "job", from: 1, to: 1, seen: map[*stream]int{}}
	st := &stream{resource: "pods"}
	tell := func(name string, after time.Duration) bool {
		f, err := newFrame([]byte(event("ADDED", name, 1)))
		if err != nil {
			t.Fatal(err)
		}
		return k.swallows(st, f, now.Add(after))
	}
	if tell("x", 0) || !tell("job", 0) {
		t.Error("not from the first event about the subject on")
	}
	for after := 200 * time.Millisecond; after < longest; after += 200 * time.Millisecond {
		if end, _ := k.ends(st); !tell("x", after) || now.Add(after).After(end) {
			t.Errorf("it ends after %v", end.Sub(now))
		}
	}
	if end, on := k.ends(st); !on || end.Sub(now) != longest {
		t.Errorf("it ends after %v", end.Sub(now))
	}
}

func TestAsOf(t *testing.T) {
	s, p := newStub(t)
	client := operator(t, p)
	s.list = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"40"},"items":[{"metadata":{"name":"job-0","resourceVersion":"33"}}]}`
	p.Streams().AsOf("40")
	ask(t, client, p, "GET", pods+"?limit=500&resourceVersion=0&labelSelector=a", "")
	ask(t, client, p, "GET", pods+"?limit=500&continue=abc", "")
	w := begin(t, client, p, pods+"?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=a&timeoutSeconds=9")
	w.tells(t, "ADDED job-0 33", "BOOKMARK  40")
	s.tell <- event("MODIFIED", "job-0", 40)
	w.tells(t, "MODIFIED job-0 40")
	s.tell <- event("MODIFIED", "job-0", 41)
	s.tell <- event("BOOKMARK", "", 42)
	w.silent(t, p, 2)
	p.Streams().Present()
	w.tells(t, "MODIFIED job-0 41", "BOOKMARK  42")
	ask(t, client, p, "GET", pods+"?limit=500", "")
	want := []string{
		"GET /api/v1/namespaces/ns/pods?labelSelector=a&resourceVersion=40&resourceVersionMatch=Exact",
		"GET /api/v1/namespaces/ns/pods?continue=abc&limit=500",
		"GET /api/v1/namespaces/ns/pods?labelSelector=a&resourceVersion=40&resourceVersionMatch=Exact",
		"GET /api/v1/namespaces/ns/pods?allowWatchBookmarks=true&labelSelector=a&resourceVersion=40&timeoutSeconds=9&watch=true",
		"GET /api/v1/namespaces/ns/pods?limit=500",
	}
	if got := s.requests(); !slices.Equal(want, got) {
		t.Errorf("reached the API server:\n%s", strings.Join(got, "\n"))
	}
	if zero := p.Lists()[0]; zero.Query.Get("resourceVersion") != "0" || zero.Fault != "as of 40" {
		t.Errorf("the journal says %+v", zero)
	}
}

// TestAsOfFrom: a watch of the past with a resourceVersion starts at it.
func TestAsOfFrom(t *testing.T) {
	s, p := newStub(t)
	p.Streams().AsOf("40")
	w := begin(t, operator(t, p), p, pods+"?watch=true&resourceVersion=38")
	s.tell <- event("ADDED", "job-0", 39)
	w.tells(t, "ADDED job-0 39")
	s.tell <- event("DELETED", "job-0", 45)
	w.silent(t, p, 1)
	p.Streams().Cut("pods")
	w.mustBreak(t)
	if got := s.requests(); !slices.Equal(got, []string{"GET /api/v1/namespaces/ns/pods?resourceVersion=38&watch=true"}) {
		t.Errorf("reached the API server: %v", got)
	}
}

// TestRefusedWatch: an API server's rejection of a watch is passed on.
func TestRefusedWatch(t *testing.T) {
	s, p := newStub(t)
	s.noWatch = http.StatusForbidden
	response, err := operator(t, p).Get(p.address() + pods + "?watch=true")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("told %d, %v", response.StatusCode, err)
	}
}
