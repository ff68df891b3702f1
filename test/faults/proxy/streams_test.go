package proxy

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// shown is what the stub reports of version n.
func shown(n int) string {
	return fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"name":"p","resourceVersion":"%d"}}}`, n)
}

const (
	bookmark  = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}`
	endsStart = `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}`
)

// TestStreams: what an operator sees of a watch under each fault. A script tells the stub's events, causes faults and reads lines.
func TestStreams(t *testing.T) {
	for name, script := range map[string]func(w *watcher){
		"hold": func(w *watcher) {
			w.p.Streams().Hold("pods")
			w.tells(shown(1), shown(2))
			w.parks(2)
			w.p.Streams().Release("pods")
			w.sees(shown(1), shown(2))
		},
		"cut": func(w *watcher) {
			w.tells(shown(1))
			w.sees(shown(1))
			w.p.Streams().Cut("pods")
			w.sees(`{"type":`, "the end")
		},
		"expire": func(w *watcher) {
			w.p.Streams().Hold("pods")
			w.tells(shown(1))
			w.parks(1)
			w.p.Streams().Expire("pods")
			w.sees(`"code":410`, "the end")
		},
		"of another resource": func(w *watcher) {
			w.p.Streams().Hold("services")
			w.p.Streams().Cut("services")
			w.tells(shown(1))
			w.sees(shown(1))
		},
		"as of": func(w *watcher) {
			w.tells(shown(5), shown(6))
			w.sees(shown(5))
			w.parks(1)
			w.p.Streams().Present()
			w.sees(shown(6))
		},
		"bookmarks": func(w *watcher) {
			w.p.Streams().DropBookmarks(true)
			w.tells(bookmark, endsStart)
			w.sees(endsStart)
			w.p.Streams().DropBookmarks(false)
			w.tells(bookmark)
			w.sees(bookmark)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newStub(t)
			if name == "as of" {
				p.Streams().AsOf("5")
			}
			script(newWatcher(t, s, p))
		})
	}
}

// TestAsOf: lists show the past, a streaming list is refused, and a GET is live.
func TestAsOf(t *testing.T) {
	s, p := newStub(t)
	client := operator(t, p)
	p.Streams().AsOf("5")
	ask(t, client, p, http.MethodGet, pods+"?limit=500", "")
	if got := ask(t, client, p, http.MethodGet, pods+"?watch=1&sendInitialEvents=true", ""); got.Code != http.StatusBadRequest {
		t.Errorf("a streaming list is answered %d", got.Code)
	}
	ask(t, client, p, http.MethodGet, pods+"/job-0", "")
	p.Streams().Present()
	ask(t, client, p, http.MethodGet, pods, "")
	got := strings.Join(s.requests(), ", ")
	if want := "GET " + pods + "?resourceVersion=5&resourceVersionMatch=Exact, GET " + pods + "/job-0, GET " + pods; got != want {
		t.Errorf("the API server saw %s, not %s", got, want)
	}
	if lists := p.Lists(); len(lists) != 3 || lists[0].Fault != "as of 5" || lists[0].Query.Get("limit") != "500" {
		t.Errorf("the record is %+v", lists)
	}
}

// watcher is a watch of pods by the operator.
type watcher struct {
	t     *testing.T
	s     *stub
	p     *Proxy
	lines chan string
}

func newWatcher(t *testing.T, s *stub, p *Proxy) *watcher {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Config().Host+pods+"?watch=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := operator(t, p).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, s: s, p: p, lines: make(chan string, 10)}
	go func() {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			w.lines <- lines.Text()
		}
		w.lines <- "the end"
	}()
	await(t, "the watch", func() bool { return p.Streams().Open("pods") == 1 })
	return w
}

func (w *watcher) tells(events ...string) {
	for _, event := range events {
		w.s.tell <- event
	}
}

// sees checks the next lines.
func (w *watcher) sees(wanted ...string) {
	w.t.Helper()
	for _, want := range wanted {
		if got := <-w.lines; !strings.Contains(got, want) {
			w.t.Errorf("it saw %s, not %s", got, want)
		}
	}
}

// parks waits until so many events are parked, and checks that none was delivered.
func (w *watcher) parks(n int) {
	w.t.Helper()
	await(w.t, fmt.Sprintf("%d events to be parked", n), func() bool {
		parked := 0
		w.p.Streams().each("pods", func(st *stream) { parked = len(st.queue) })
		return parked == n
	})
	if len(w.lines) > 0 {
		w.t.Errorf("it saw %s", <-w.lines)
	}
}
