package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"stoic/test/faults/apimodel"
)

// Request is a request of a client.
type Request = apimodel.Request

// Server serves one model. Once requests arrive, its fields may be used only within Locked.
type Server struct {
	*apimodel.Model
	// Before is called before each request is served, without the lock, and may wait. If it returns a Status, that is the answer
	// instead of the model's.
	Before func(Request) *metav1.Status
	// After is called when a request has been served and before its answer arrives, without the lock.
	After       func(Request)
	NoWatchList bool
	Held        map[string]bool // resources whose watches are silent

	mu      sync.Mutex
	watches []*watch
	ending  bool
}

// watch is a watch that has begun.
type watch struct {
	*apimodel.Watch
	events *apimodel.Events
}

// New serves resources until the test ends.
func New(t testing.TB, resources ...apimodel.Resource) *Server {
	t.Helper()
	s := &Server{Model: apimodel.New(time.Now, resources...), Held: map[string]bool{}}
	t.Cleanup(func() {
		s.Locked(func() {
			s.ending = true
			s.Cut()
		})
	})
	return s
}

// Config returns the configuration of a client.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://model", QPS: -1, Transport: s.transport(), ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// Listen serves the model on a loopback address until the test ends, for programs that read the address from a kubeconfig.
func (s *Server) Listen(t testing.TB) (address string) {
	t.Helper()
	proxy := &httputil.ReverseProxy{Transport: s.transport(), FlushInterval: -1,
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "model"}) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	front := httptest.NewServer(proxy)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL
}

// Locked runs f while no request is served. Then watches receive what it has changed.
func (s *Server) Locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.deliver()
	f()
}

// deliver sends to each watch what it has not received. The caller holds the lock.
func (s *Server) deliver() {
	for _, w := range s.watches {
		if s.Held[w.Resource.Plural] {
			continue
		}
		events, ended := s.More(w.Watch)
		w.events.Send(events)
		if ended {
			w.events.End()
		}
	}
	s.watches = slices.DeleteFunc(s.watches, func(w *watch) bool { return w.events.Ended() })
}

// Cut ends all watches. The caller holds the lock.
func (s *Server) Cut() {
	for _, w := range s.watches {
		w.events.End()
	}
	s.watches = nil
}

// transport answers a client's requests until it no longer waits, also while Before waits.
func (s *Server) transport() apimodel.Transport {
	return func(q *Request) (apimodel.Answer, error) {
		type result struct {
			apimodel.Answer
			error
		}
		done := make(chan result, 1)
		go func() {
			a, err := s.answer(q)
			done <- result{a, err}
		}()
		select {
		case r := <-done:
			return r.Answer, r.error
		case <-q.Gone:
			return apimodel.Answer{}, context.Cause(q.Context())
		}
	}
}

var errEnding = errors.New("the test has ended")

func (s *Server) answer(q *Request) (a apimodel.Answer, err error) {
	var before func(Request) *metav1.Status
	s.Locked(func() {
		before = s.Before
		if s.ending {
			err = errEnding
		}
	})
	if err != nil {
		return a, err
	}
	lost := false
	if before != nil {
		no := before(*q)
		if no != nil && no.Code != 0 {
			return refuse(no), nil
		}
		lost = no != nil
	}
	if q.Watch {
		s.Locked(func() { a = s.watch(q) })
		return a, nil
	}
	var after func(Request)
	s.Locked(func() {
		a.Code, a.Body = s.Do(q.Request)
		after = s.After
	})
	if after != nil {
		after(*q)
	}
	if lost {
		return a, io.EOF
	}
	return a, nil
}

// watch begins a watch. The caller holds the lock.
func (s *Server) watch(q *Request) apimodel.Answer {
	if s.NoWatchList && q.URL.Query().Has("sendInitialEvents") {
		return refuse(Refusal(http.StatusUnprocessableEntity, "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"))
	}
	wanted, code, body := s.Watching(q.Request)
	if wanted == nil {
		return apimodel.Answer{Code: code, Body: body}
	}
	w := &watch{wanted, apimodel.NewEvents()}
	w.events.Send(s.Begin(wanted, s.Version()))
	s.watches = append(s.watches, w)
	return apimodel.Answer{Code: http.StatusOK, Events: w.events}
}

// Lost returns the value with which Before has a request served and its answer lost.
func Lost() *metav1.Status { return &metav1.Status{} }

// Refusal returns an error in the API server's wording. Its reason follows from the code.
func Refusal(code int, message string) *metav1.Status {
	status := apierrors.NewGenericServerResponse(code, "", runtimeschema.GroupResource{}, "", message, 0, false).Status()
	status.Message = message
	return &status
}

func refuse(status *metav1.Status) apimodel.Answer {
	said := *status
	said.Kind, said.APIVersion = "Status", "v1"
	body, err := json.Marshal(said)
	if err != nil {
		panic(err) // a Status has a JSON form
	}
	return apimodel.Answer{Code: int(said.Code), Body: body}
}
