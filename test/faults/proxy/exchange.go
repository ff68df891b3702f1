package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// exchange is one request of the operator.
type exchange struct {
	*visit
	p    *Proxy
	run  *run
	w    http.ResponseWriter
	r    *http.Request
	body []byte
}

// answer is the API server's answer.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	process := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.listener.belongs(r.Context(), process)
	l := p.admit(process)
	if l == nil {
		cut()
	}
	defer p.busy.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut() // the operator died in the middle of the request
	}
	x := &exchange{p: p, run: l, w: w, r: r, body: body}
	q, ok := parse(r, body)
	switch {
	case !ok:
		x.visit = &visit{entry: &Entry{}}
		x.answer(x.forward())
		return
	case q.Verb == "list" || q.Verb == "watch":
		x.visit = p.lists.enter(q, l)
		p.narrow(x.r, q)
	default:
		x.visit = p.enter(q, l)
	}
	defer x.leave()
	x.r.Header.Set("Accept", readable(x.r.Header.Get("Accept")))
	switch q.Verb {
	case "list":
		x.list()
	case "watch":
		x.watch()
	default:
		x.queue()
		x.happen()
	}
}

// readable keeps the JSON forms of what an operator accepts: the proxy could not parse a stream in another form.
func readable(accept string) string {
	var kept []string
	for form := range strings.SplitSeq(accept, ",") {
		if strings.HasPrefix(strings.TrimSpace(form), "application/json") {
			kept = append(kept, strings.TrimSpace(form))
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// queue waits while the Do of an earlier request of the track runs.
func (x *exchange) queue() {
	if x.after == nil {
		return
	}
	select {
	case <-x.after:
	case <-x.run.over:
		x.note(func(e *Entry) { e.Fault = silenced })
		cut()
	}
}

// forward sends the request to the API server and returns its answer; without one it cuts.
func (x *exchange) forward() *answer {
	ctx := x.r.Context()
	if x.entry.writes() {
		// A write in flight arrives, even if the operator dies: its result must be known.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(x.p.closing, settle)
		defer cancel()
	}
	if !x.p.begin(x.run) {
		x.note(func(e *Entry) { e.Fault = silenced })
		cut()
	}
	a, err := x.ask(ctx)
	x.run.writes.Done()
	x.note(func(e *Entry) {
		e.Ended = time.Now()
		e.Forwarded = !undialled(err)
		if err != nil {
			return
		}
		e.Code, e.Body = a.code, a.body
		if e.Name == "" && e.Verb == "create" {
			e.Name = refer(a.body).Metadata.Name
		}
	})
	if err != nil {
		cut()
	}
	return a
}

// ask sends the request and reads the whole answer.
func (x *exchange) ask(ctx context.Context) (*answer, error) {
	response, err := x.send(ctx, x.r.URL.Query(), x.r.Header)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return &answer{code: response.StatusCode, header: response.Header, body: body}, nil
}

// send sends the request with another query and header.
func (x *exchange) send(ctx context.Context, query url.Values, header http.Header) (*http.Response, error) {
	u := *x.p.base
	u.Path = strings.TrimSuffix(u.Path, "/") + x.r.URL.Path
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, x.r.Method, u.String(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		if !hopByHop(name) {
			r.Header[name] = values
		}
	}
	return x.p.upstream.RoundTrip(r)
}

// hopByHop reports whether the proxy sets a header itself: it has its own credentials and requests plain bytes.
func hopByHop(name string) bool {
	switch name {
	case "Authorization", "Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Upgrade":
		return true
	}
	return false
}

// undialled reports whether there was no connection to the API server.
func undialled(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// answer sends the API server's answer to the operator.
func (x *exchange) answer(a *answer) {
	x.head(a.code, a.header)
	x.w.Write(a.body)
}

func (x *exchange) head(code int, header http.Header) {
	for name, values := range header {
		if !hopByHop(name) {
			x.w.Header()[name] = values
		}
	}
	x.w.WriteHeader(code)
}
