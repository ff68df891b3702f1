package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// exchange is one request of the operator.
type exchange struct {
	visit *visit
	p     *Proxy
	run   *run
	w     http.ResponseWriter
	r     *http.Request
	sent  []byte
}

// answer is the API server's answer.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// awaitCrash waits while the callback of an earlier request of the track runs.
func (x *exchange) awaitCrash() {
	if x.visit.after == nil {
		return
	}
	select {
	case <-x.visit.after:
	case <-x.run.over:
		x.stop()
	}
}

// awaitEarlier waits until the earlier writes have ended, so that it does not depend on chance which of them were done.
func (x *exchange) awaitEarlier() {
	for _, ended := range x.visit.earlier {
		select {
		case <-ended:
		case <-x.run.over:
		}
	}
}

// stop ends the request of an operator that is dead.
func (x *exchange) stop() {
	x.visit.note(func(e *Entry) { e.Fault = silenced })
	cut()
}

// forward sends the request to the API server and returns its answer; without one it cuts.
func (x *exchange) forward() *answer {
	ctx := x.r.Context()
	if x.visit.entry.writes() {
		// A write in flight arrives, even if the operator dies: its result must be known.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(x.p.closing, settle)
		defer cancel()
	}
	if !x.p.beginWrite(x.run) {
		x.stop()
	}
	a, err := x.ask(ctx, x.r.URL.Query())
	x.run.writes.Done()
	x.visit.note(func(e *Entry) {
		e.Forwarded = !isUnreached(err)
		if err != nil {
			return
		}
		e.Code = a.code
		e.Body = a.body
		if e.Name == "" && e.Verb == "create" {
			e.Name = readReference(a.body).Metadata.Name
		}
	})
	if err != nil {
		cut()
	}
	return a
}

// ask sends the request with some query, and reads the whole answer.
func (x *exchange) ask(ctx context.Context, query url.Values) (*answer, error) {
	response, err := x.send(ctx, query)
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

// send sends the request with some query.
func (x *exchange) send(ctx context.Context, query url.Values) (*http.Response, error) {
	u := *x.p.base
	u.Path = strings.TrimSuffix(u.Path, "/") + x.r.URL.Path
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, x.r.Method, u.String(), bytes.NewReader(x.sent))
	if err != nil {
		return nil, err
	}
	copyHeader(r.Header, x.r.Header)
	return x.p.upstream.RoundTrip(r)
}

// copyHeader copies a header, without what the proxy sets itself: it has its own credentials and requests plain bytes.
func copyHeader(to, from http.Header) {
	for name, values := range from {
		switch name {
		case "Authorization", "Accept-Encoding", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Upgrade":
		default:
			to[name] = values
		}
	}
}

// isUnreached reports whether there was no connection to the API server.
func isUnreached(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// answer sends the API server's answer to the operator.
func (x *exchange) answer(a *answer) {
	copyHeader(x.w.Header(), a.header)
	x.w.WriteHeader(a.code)
	_, _ = x.w.Write(a.body) // the operator may be gone
}

// refuse answers in place of the API server. A 409 has the reason Conflict even for a creation: AlreadyExists would be a false
// statement about the cluster, and not a fault.
func (x *exchange) refuse(code int) {
	q := x.visit.entry.Request
	seconds := 0
	if code == http.StatusTooManyRequests {
		seconds = 1
		x.w.Header().Set("Retry-After", "1")
	}
	status := apierrors.NewGenericServerResponse(code, "put", schema.GroupResource{Group: q.Group, Resource: q.Resource}, q.Name, "injected", seconds, false).Status()
	if code == http.StatusGone {
		status.Reason = metav1.StatusReasonExpired
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, err := json.Marshal(status)
	if err != nil {
		cut()
	}
	x.answer(&answer{code: code, header: http.Header{"Content-Type": {"application/json"}}, body: text})
}
