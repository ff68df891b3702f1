package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"stoic/test/faults/apimodel"
)

// Request is a request of a client.
type Request struct {
	Method string
	// Resource has the subresource, as in "pods/status"; "" is a request for discovery.
	Resource, Namespace, Name string
	Watch                     bool
	URL                       *url.URL
	Body                      []byte
	Gone                      <-chan struct{} // closed when its client no longer waits
}

// Server serves one model. Once requests arrive, its fields may be used only within Locked.
type Server struct {
	*apimodel.Model
	URL string
	// Before is called before each request is served, without the lock, and may wait. If it returns a Status, that is the answer
	// instead of the model's.
	Before func(Request) *metav1.Status
	// After is called when a request has been served and before its answer arrives, without the lock.
	After       func(Request)
	NoWatchList bool
	Held        map[string]bool // resources whose watches are silent

	mu      sync.Mutex
	changed *sync.Cond
	cuts    int
	ending  bool
}

// New serves resources until the test ends.
func New(t testing.TB, resources ...apimodel.Resource) *Server {
	t.Helper()
	s := &Server{Model: apimodel.New(time.Now, resources...), Held: map[string]bool{}}
	s.changed = sync.NewCond(&s.mu)
	front := httptest.NewServer(s)
	s.URL = front.URL
	t.Cleanup(func() {
		s.Locked(func() { s.ending = true })
		front.CloseClientConnections()
		front.Close()
	})
	return s
}

// Locked runs f while no request is served.
func (s *Server) Locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.changed.Broadcast()
}

// Cut ends all watches. The caller holds the lock.
func (s *Server) Cut() { s.cuts++ }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q, err := read(r)
	if err != nil {
		answer(w, Refusal(http.StatusBadRequest, err.Error()))
		return
	}
	var before func(Request) *metav1.Status
	s.Locked(func() { before = s.Before })
	lost := false
	if before != nil {
		if no := before(q); no != nil && no.Code != 0 {
			answer(w, no)
			return
		} else if no != nil {
			lost = true
		}
	}
	if q.Watch {
		s.watch(w, r, q)
		return
	}
	var code int
	var body []byte
	var after func(Request)
	s.Locked(func() { code, body = s.Do(r); after = s.After })
	if after != nil {
		after(q)
	}
	if lost {
		panic(http.ErrAbortHandler)
	}
	write(w, code, body)
}

// read reads a request, so that its body can be read again.
func read(r *http.Request) (Request, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	q := Request{Method: r.Method, URL: r.URL, Body: body, Watch: apimodel.IsWatch(r), Gone: r.Context().Done()}
	q.Resource, q.Namespace, q.Name = apimodel.Target(r.URL.Path)
	return q, err
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, q Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.NoWatchList && q.URL.Query().Has("sendInitialEvents") {
		answer(w, Refusal(http.StatusUnprocessableEntity, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"))
		return
	}
	stream, events, code, body := s.Begin(r)
	if stream == nil {
		write(w, code, body)
		return
	}
	defer context.AfterFunc(r.Context(), func() { s.Locked(func() {}) })()
	w.Header().Set("Content-Type", "application/json")
	for cuts := s.cuts; ; s.changed.Wait() {
		ended := false
		if !s.Held[q.Resource] {
			var more []byte
			more, ended = s.More(stream)
			events = append(events, more...)
		}
		_, _ = w.Write(events) // if the client no longer exists, its request ends
		events = nil
		w.(http.Flusher).Flush()
		if ended || s.ending || s.cuts != cuts || r.Context().Err() != nil {
			return
		}
	}
}

// Lost returns the value with which Before has a request served and its answer lost.
func Lost() *metav1.Status { return &metav1.Status{} }

// Refusal returns an error in the API server's wording. Its reason follows from the code.
func Refusal(code int, message string) *metav1.Status {
	status := apierrors.NewGenericServerResponse(code, "", runtimeschema.GroupResource{}, "", message, 0, false).Status()
	status.Message = message
	return &status
}

func answer(w http.ResponseWriter, status *metav1.Status) {
	said := *status
	said.Kind, said.APIVersion = "Status", "v1"
	body, err := json.Marshal(said)
	if err != nil {
		panic(err) // a Status has a JSON form
	}
	write(w, int(said.Code), body)
}

func write(w http.ResponseWriter, code int, body []byte) {
	if w.Header().Set("Content-Type", "application/json"); !bytes.HasPrefix(body, []byte("{")) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that no longer exists needs no answer
}
