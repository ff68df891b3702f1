package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// list answers a LIST, perhaps as of the past.
func (x *exchange) list() {
	past, _ := x.p.streams.terms()
	query := x.r.URL.Query()
	if past != "" {
		asOf(query, past)
		x.note(func(e *Entry) { e.Fault = "as of " + past })
	}
	response := x.reach(x.r.Context(), query, x.r.Header)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		cut()
	}
	x.answer(&answer{code: response.StatusCode, header: response.Header, body: body})
}

// asOf changes the query of a LIST to one of the past. The later chunks of a list have the version of the first.
func asOf(query url.Values, past string) {
	if query.Get("continue") != "" {
		return
	}
	query.Del("limit")
	query.Set("resourceVersion", past)
	query.Set("resourceVersionMatch", "Exact")
}

// reach sends a list or watch and records the code of the answer; without one it cuts.
func (x *exchange) reach(ctx context.Context, query url.Values, header http.Header) *http.Response {
	if x.run.dead() {
		x.note(func(e *Entry) { e.Fault = silenced })
		cut()
	}
	response, err := x.send(ctx, query, header)
	x.note(func(e *Entry) {
		e.Forwarded = !undialled(err)
		if err == nil {
			e.Code = response.StatusCode
		}
	})
	if err != nil {
		cut()
	}
	return response
}

// watch serves a WATCH until one of the three parties ends it.
func (x *exchange) watch() {
	past, noWatchList := x.p.streams.terms()
	query := x.r.URL.Query()
	initial := isTrue(query.Get("sendInitialEvents"))
	if initial && noWatchList {
		x.note(func(e *Entry) { e.Fault, e.Code = "no watch-list", http.StatusBadRequest })
		send(x.w, status(http.StatusBadRequest, "injected: sendInitialEvents is not served"))
		return
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	st := &stream{resource: x.entry.Resource, poked: make(chan struct{}, 1), initial: initial, past: number(past)}
	if past != "" {
		x.note(func(e *Entry) { e.Fault = "as of " + past })
		if start := query.Get("resourceVersion"); initial || start == "" || start == "0" {
			if st.queue = x.beginning(ctx, query, past, initial); st.queue == nil {
				return
			}
		}
	}
	response := x.reach(ctx, query, x.r.Header)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		x.head(response.StatusCode, response.Header)
		io.Copy(x.w, response.Body)
		return
	}
	response.Header.Del("Content-Length")
	x.head(response.StatusCode, response.Header)
	x.flush()
	x.follow(ctx, cancel, st, response.Body)
}

// follow delivers to the operator what the API server sends.
func (x *exchange) follow(ctx context.Context, cancel func(), st *stream, body io.Reader) {
	s := x.p.streams
	var reading sync.WaitGroup
	reading.Go(func() { s.read(st, body) })
	s.add(st)
	defer reading.Wait()
	defer cancel()
	defer s.remove(st)
	for {
		next := s.next(st, time.Now())
		switch {
		case next.tell != nil:
			x.write(next.tell.raw)
			continue
		case next.gone:
			x.write(expired())
			return
		case next.end:
			return
		case next.cut:
			x.sever()
			return
		}
		var again <-chan time.Time
		if next.again > 0 {
			again = time.After(next.again)
		}
		select {
		case <-st.poked:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// write sends the operator a part of a watch, and cuts if the operator is gone.
func (x *exchange) write(data []byte) {
	if _, err := x.w.Write(data); err != nil {
		cut()
	}
	x.flush()
}

func (x *exchange) flush() {
	if err := http.NewResponseController(x.w).Flush(); err != nil {
		cut()
	}
}

// sever ends a watch like a broken connection: in the middle of an event. Over HTTP/2 the reset of one stream would do that too, but
// client-go treats it as a failure of the API server and lists again. After a broken connection it resumes the watch, and so it does here.
func (x *exchange) sever() {
	if x.r.ProtoMajor < 2 {
		cut()
	}
	x.w.Write([]byte(`{"type":`))
}

// expired returns the event with which an API server ends a watch whose resourceVersion is too old.
func expired() []byte {
	text, err := json.Marshal(map[string]any{
		"type": failure, "object": status(http.StatusGone, "injected: too old resource version"),
	})
	if err != nil {
		cut()
	}
	return append(text, '\n')
}

// beginning makes the initial events of a watch of the past from a list, and changes the query to one for the events after them.
// If the list fails, it passes on the API server's answer and returns nil.
func (x *exchange) beginning(ctx context.Context, query url.Values, past string, ended bool) []*frame {
	listing := x.r.URL.Query()
	for _, name := range []string{"watch", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds"} {
		listing.Del(name)
	}
	asOf(listing, past)
	header := x.r.Header.Clone()
	header.Set("Accept", listForm(header.Get("Accept")))
	response := x.reach(ctx, listing, header)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		cut()
	}
	if response.StatusCode != http.StatusOK {
		x.head(response.StatusCode, response.Header)
		x.w.Write(body)
		return nil
	}
	frames, version, err := added(body, ended)
	if err != nil {
		cut()
	}
	query.Set("resourceVersion", version)
	query.Del("resourceVersionMatch")
	query.Del("sendInitialEvents")
	return frames
}
