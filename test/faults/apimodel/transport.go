package apimodel

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Request is a request of a client, with what its path names.
type Request struct {
	*http.Request // its body can be read again
	// Resource has the subresource, as in "pods/status"; "" is a request for discovery.
	Resource, Namespace, Name string
	Watch                     bool
	Body                      []byte
	Gone                      <-chan struct{} // closed when its client no longer waits, or the watch has ended
}

// Answer is the answer to a request: a code and a body, or an open watch.
type Answer struct {
	Code   int
	Body   []byte
	Events *Events
}

// Transport sends the requests of a client to a function that answers them. It is how every client reaches a model.
type Transport func(*Request) (Answer, error)

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	q := &Request{Request: r.WithContext(ctx), Watch: IsWatch(r), Gone: ctx.Done()}
	q.Resource, q.Namespace, q.Name = target(r.URL.Path)
	a, err := t.answer(q)
	if a.Events != nil {
		a.Events.follow(ctx, cancel)
	} else {
		cancel()
	}
	if err != nil {
		return nil, err
	}
	response := &http.Response{StatusCode: a.Code, Status: http.StatusText(a.Code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Request: r, ContentLength: int64(len(a.Body))}
	if a.Events != nil {
		response.Body = a.Events
		response.ContentLength = -1
		return response, nil
	}
	if !bytes.HasPrefix(a.Body, []byte("{")) {
		response.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	response.Body = io.NopCloser(bytes.NewReader(a.Body))
	return response, nil
}

// answer reads the body of a request, and calls the function.
func (t Transport) answer(q *Request) (Answer, error) {
	if q.Request.Body != nil {
		body, err := io.ReadAll(q.Request.Body)
		if err != nil {
			return Answer{}, fmt.Errorf("read the body of a request: %w", err)
		}
		_ = q.Request.Body.Close() // it was read to its end
		q.SetBody(body)
	}
	return t(q)
}

// SetBody replaces the body of a request.
func (q *Request) SetBody(body []byte) {
	q.Body = body
	q.Request.Body = io.NopCloser(bytes.NewReader(body))
	q.ContentLength = int64(len(body))
}

// target returns what a path names: a resource, with its subresource if there is one, the namespace and the name; nothing if the
// path is one of discovery. The resource need not be served.
func target(path string) (resource, namespace, name string) {
	steps := strings.Split(strings.Trim(path, "/"), "/")
	root := 2
	if steps[0] == "apis" {
		root = 3
	}
	if len(steps) <= root {
		return "", "", ""
	}
	steps = steps[root:]
	if steps[0] == "namespaces" && len(steps) > 2 {
		namespace = steps[1]
		steps = steps[2:]
	}
	resource = steps[0]
	if len(steps) > 1 {
		name = steps[1]
	}
	if len(steps) > 2 {
		resource += "/" + steps[2]
	}
	return resource, namespace, name
}

// Events is the body of the answer to a watch. Sending never waits for the reader.
type Events struct {
	mu     sync.Mutex
	more   *sync.Cond
	unread []byte
	ended  bool
	cancel context.CancelFunc // ends the context of the request
}

// NewEvents returns a watch without events.
func NewEvents() *Events {
	e := &Events{cancel: func() {}}
	e.more = sync.NewCond(&e.mu)
	return e
}

// follow ends the watch when its client no longer waits, and the context of its request when the watch has ended.
func (e *Events) follow(ctx context.Context, cancel context.CancelFunc) {
	context.AfterFunc(ctx, e.End)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel = cancel
	if e.ended {
		cancel()
	}
}

// Send sends events, as Event returns them.
func (e *Events) Send(events []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unread = append(e.unread, events...)
	e.more.Broadcast()
}

// End ends the watch. Its client still receives what was sent.
func (e *Events) End() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.more.Broadcast()
	e.cancel()
}

// Ended reports whether the watch has ended.
func (e *Events) Ended() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// Read waits for the next event.
func (e *Events) Read(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.unread) == 0 {
		if e.ended {
			return 0, io.EOF
		}
		e.more.Wait()
	}
	n := copy(p, e.unread)
	e.unread = e.unread[n:]
	return n, nil
}

// Close is called by a client that needs no more events.
func (e *Events) Close() error {
	e.End()
	return nil
}
