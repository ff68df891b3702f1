package proxy

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

const pods = "/api/v1/namespaces/ns/pods"

// stub is an API server with given answers that records the requests that reach it.
type stub struct {
	mu      sync.Mutex
	reached []string
	// tell feeds the watches; closing it ends them.
	tell chan string
}

// newStub starts an API server over HTTP/2, a proxy for it, and a client of the proxy as the operator would be.
func newStub(t *testing.T) (*stub, *Proxy, *http.Client) {
	t.Helper()
	s := &stub{tell: make(chan string, 100)}
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = true
	server.StartTLS()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p, err := Start(&rest.Config{Host: server.URL, BearerToken: "of-the-operator", TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := rest.TLSConfigFor(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: settings, ForceAttemptHTTP2: true}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		p.Close()
		server.Close()
	})
	return s, p, &http.Client{Transport: transport, Timeout: 2 * time.Minute}
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.reached = append(s.reached, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	w.Header().Set("X-Seen", r.Header.Get("Authorization")+", "+r.Proto+", "+r.Header.Get("Accept-Encoding"))
	switch {
	case isTrue(r.URL.Query().Get("watch")):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case line, isThere := <-s.tell:
				if !isThere {
					return
				}
				_, _ = io.WriteString(w, line+"\n")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	default:
		_, _ = io.WriteString(w, `{"kind":"Echo"}`)
	}
}

// requests returns those that reached the stub.
func (s *stub) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.reached...)
}

// ask sends a request and returns the answer's code, 0 for none, and body.
func ask(t *testing.T, c *http.Client, p *Proxy, method, path, name string) (code int, text string) {
	t.Helper()
	r, err := http.NewRequest(method, p.Config().Host+path, strings.NewReader(`{"metadata":{"name":"`+name+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, response.Header.Get("X-Seen") + string(body)
}

// TestActs: what each act does to its write, to the operator, and to the next write.
func TestActs(t *testing.T) {
	did := 0
	do := func() { did++ }
	for name, c := range map[string]struct {
		act       Act
		forwarded bool
		codes     []int // seen by the operator; 0: none
		did       int
	}{
		"refuse 503": {act: Refuse(503), codes: []int{201, 503, 201}},
		"reset":      {act: Reset, codes: []int{201, 0, 201}},
		"drop":       {act: Drop, forwarded: true, codes: []int{201, 0, 201}},
		"before":     {act: Before(do), did: 1, codes: []int{201, 0, 0}},
		"after":      {act: After(do), forwarded: true, did: 1, codes: []int{201, 0, 0}},
		"along":      {act: Along(do), forwarded: true, did: 1, codes: []int{201, 201, 201}},
	} {
		t.Run(name, func(t *testing.T) {
			did = 0
			_, p, client := newStub(t)
			track := p.Follow("job")
			track.Inject(Fault{At: 2, Act: c.act})
			var got []int
			for _, pod := range []string{"job-a", "job-b", "job-c"} {
				code, _ := ask(t, client, p, "POST", pods, pod)
				got = append(got, code)
			}
			if !cmp.Equal(c.codes, got) {
				t.Errorf("the operator saw %v, not %v", got, c.codes)
			}
			second := track.Journal()[1]
			if second.Fault != name || second.Forwarded != c.forwarded || second.Name != "job-b" || second.Number != 2 || c.forwarded != (second.Code == 201) {
				t.Errorf("the journal says %+v", second)
			}
			if times, last := track.Struck(); times != 1 || last.IsZero() || did != c.did {
				t.Errorf("struck %d at %v, did %d", times, last, did)
			}
		})
	}
}

// TestRefusals: the Status fits the code, as often as the fault strikes. Reads are not numbered.
func TestRefusals(t *testing.T) {
	_, p, client := newStub(t)
	track := p.Follow("job")
	for code, reason := range map[int]string{409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout"} {
		track.Inject(Fault{At: len(track.Journal()) + 1, Times: 2, Act: Refuse(code)})
		for range 2 {
			got, text := ask(t, client, p, "PUT", pods+"/job-a", "job-a")
			if got != code || !strings.Contains(text, `"reason":"`+reason+`"`) || !strings.Contains(text, `"kind":"Status"`) {
				t.Errorf("%d: told %d %s", code, got, text)
			}
		}
	}
	track.Lift()
	for _, method := range []string{"GET", "PUT"} {
		if code, text := ask(t, client, p, method, pods+"/job-a", "job-a"); code != 200 {
			t.Errorf("after the fault: told %d %s", code, text)
		}
	}
	if all := track.Journal(); all[len(all)-2].Number != 0 || all[len(all)-1].Number != 15 {
		t.Errorf("the last are %+v", all[len(all)-2:])
	}
}

// TestSubject: requests of no subject pass, with the credentials of the operator's user, over HTTP/2, and ask for plain text: compressed
// events cannot be told apart. Events are of the object that they
// are about.
func TestSubject(t *testing.T) {
	s, p, client := newStub(t)
	track := p.Follow("job")
	for _, path := range []string{"/version", "/apis", pods + "/jobs-0", "/api/v1/nodes/n"} {
		if code, text := ask(t, client, p, "GET", path+"?x=y", ""); code != 200 || !strings.HasPrefix(text, "Bearer of-the-operator, HTTP/2.0, {") {
			t.Errorf("%s: told %d %s", path, code, text)
		}
	}
	if len(track.Journal()) != 0 || len(s.requests()) != 4 {
		t.Errorf("journal %v, reached %v", track.Journal(), s.requests())
	}
	for _, q := range []Request{
		{Name: "job"}, {Name: "job-worker-0"}, {Body: []byte(`{"metadata":{"generateName":"job-"}}`)},
		{Resource: "events", Name: "x", Body: []byte(`{"involvedObject":{"name":"job-0"}}`)},
		{Resource: "events", Name: "x", Body: []byte(`{"regarding":{"name":"job"}}`)}, {Resource: "events", Name: "job.17f", Body: []byte(`{"count":2}`)},
	} {
		if got := q.subject(); got != "job" {
			t.Errorf("%+v is of %q", q, got)
		}
	}
}

// TestCrash: what kills the operator does not wait for itself, and no later write overtakes the crash, however many arrive
// concurrently. The next operator's requests pass.
func TestCrash(t *testing.T) {
	for name, want := range map[string]int{"before": 4, "after": 5} {
		t.Run(name, func(t *testing.T) {
			s, p, client := newStub(t)
			track := p.Follow("job")
			act := map[string]func(func()) Act{"before": Before, "after": After}[name]
			died := make(chan struct{})
			track.Inject(Fault{At: 5, Act: act(func() {
				p.Silence()
				close(died)
			})})
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { ask(t, client, p, "POST", pods, "job-0") })
			}
			all.Wait()
			<-died
			if n := len(s.requests()); n != want {
				t.Errorf("%d writes reached the API server, not %d", n, want)
			}
			for _, e := range track.Journal() {
				if e.Forwarded != (e.Number <= want) || e.Forwarded != (e.Code == 201) {
					t.Errorf("write %d: forwarded %t, code %d, fault %q", e.Number, e.Forwarded, e.Code, e.Fault)
				}
			}
			p.Resume()
			if code, text := ask(t, client, p, "POST", pods, "job-1"); code != 201 {
				t.Errorf("the running operator received %d %s", code, text)
			}
		})
	}
}

// TestStreams: what an operator sees of a watch under each fault.
func TestStreams(t *testing.T) {
	shown := func(n int) string {
		return fmt.Sprintf(`{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"%d"}}}`, n)
	}
	for name, c := range map[string]struct {
		resource string
		before   func(*Streams, string)
		after    func(*Streams, string)
		sees     []string // after the first event, of the second
	}{
		"hold":                {"pods", (*Streams).Hold, (*Streams).Release, []string{shown(2)}},
		"cut":                 {"pods", (*Streams).Hold, (*Streams).Cut, []string{`{"type":`, ""}},
		"expire":              {"pods", (*Streams).Hold, (*Streams).Expire, []string{`"code":410`, ""}},
		"of another resource": {"services", (*Streams).Hold, (*Streams).Cut, []string{shown(2)}},
		"as of":               {"", func(s *Streams, _ string) { s.AsOf("7") }, func(s *Streams, _ string) { s.Present() }, []string{shown(2)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, client := newStub(t)
			response, err := client.Get(p.Config().Host + pods + "?watch=true")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			lines := bufio.NewReader(response.Body)
			sees := func(want string) {
				t.Helper()
				line, _ := lines.ReadString('\n')
				if want == "" && line != "" || !strings.Contains(line, want) {
					t.Errorf("it sees %q, not %q", line, want)
				}
			}
			s.tell <- shown(1)
			sees(shown(1))
			c.before(p.Streams(), c.resource)
			s.tell <- shown(2)
			if name == "as of" {
				if code, _ := ask(t, client, p, "GET", pods+"?limit=500", ""); code != 200 || !strings.Contains(strings.Join(s.requests(), " "), "resourceVersion=7&resourceVersionMatch=Exact") {
					t.Errorf("a list is answered with %d; reached: %v", code, s.requests())
				}
				if code, _ := ask(t, client, p, "GET", pods+"?watch=true&sendInitialEvents=true", ""); code != 400 {
					t.Errorf("a streaming list is answered with %d", code)
				}
			}
			c.after(p.Streams(), c.resource)
			for _, want := range c.sees {
				sees(want)
			}
		})
	}
}
