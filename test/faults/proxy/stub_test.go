package proxy

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// stub is an API server with given answers that records the requests that reach it.
type stub struct {
	*httptest.Server
	mu      sync.Mutex
	reached []string
	// tell feeds the watches; closing it ends them.
	tell chan string
}

// newStub starts an API server over HTTP/2 and a proxy for it.
func newStub(t *testing.T) (*stub, *Proxy) {
	t.Helper()
	s := &stub{tell: make(chan string, 100)}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	p, err := Start(&rest.Config{Host: s.URL, BearerToken: "of-the-operator", TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s, p
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.reached = append(s.reached, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	w.Header().Set("X-Seen-Token", r.Header.Get("Authorization"))
	w.Header().Set("X-Seen-Proto", r.Proto)
	switch {
	case isTrue(r.URL.Query().Get("watch")):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		s.stream(w, r)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	default:
		fmt.Fprintf(w, `{"kind":"Echo","method":%q}`, r.Method)
	}
}

func (s *stub) stream(w http.ResponseWriter, r *http.Request) {
	for {
		select {
		case line, ok := <-s.tell:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line+"\n")
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// requests returns those that reached the stub.
func (s *stub) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.reached...)
}

// operator returns a client of the proxy, as the operator would be.
func operator(t *testing.T, p *Proxy) *http.Client {
	t.Helper()
	settings, err := rest.TLSConfigFor(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: settings, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}

// reported is what the operator received for a request.
type reported struct {
	Code   int
	Body   string
	Header http.Header
	Err    error
}

func ask(t *testing.T, c *http.Client, p *Proxy, method, path, body string) reported {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, p.Config().Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.Do(r)
	if err != nil {
		return reported{Err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return reported{Code: response.StatusCode, Body: string(text), Header: response.Header, Err: err}
}

// await waits until the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}
