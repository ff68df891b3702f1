package proxy

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Proxy is between one operator and its API server.
type Proxy struct {
	base      *url.URL
	transport *http.Transport
	upstream  http.RoundTripper // the transport, with the credentials of the operator's user
	server    *httptest.Server
	closing   context.Context
	close     context.CancelFunc

	streams *Streams
	lists   *Track
	// unclaimed has the writes that concern no subject.
	unclaimed *Track

	mu     sync.Mutex
	run    *run
	tracks map[string]*Track
	over   map[string]bool // subjects whose tracks have ended
	busy   sync.WaitGroup  // handlers
}

// run is the time from a Resume to a Silence: that of one operator process.
type run struct {
	over chan struct{}
	// writes are those that were sent to the API server. They end, whatever happens to the operator.
	writes sync.WaitGroup
}

func (r *run) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// settle bounds how long a forwarded write may take.
const settle = 30 * time.Second

// Start listens on the loopback address and forwards to the API server of the configuration, with its credentials.
func Start(upstream *rest.Config) (*Proxy, error) {
	p := &Proxy{streams: newStreams(), lists: newTrack(""), unclaimed: newTrack(""), tracks: map[string]*Track{}, run: &run{over: make(chan struct{})}, over: map[string]bool{}}
	if err := p.dial(upstream); err != nil {
		return nil, err
	}
	p.closing, p.close = context.WithCancel(context.Background())
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.EnableHTTP2 = true
	p.server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2000}
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that were cut
	p.server.StartTLS()
	return p, nil
}

// dial prepares the connection to the API server: HTTP/2, not compressed, and not shared, so that Close can end it.
func (p *Proxy) dial(config *rest.Config) error {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("read the API server's address: %w", err)
	}
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		return fmt.Errorf("read the operator's certificate: %w", err)
	}
	p.base = base
	p.transport = &http.Transport{TLSClientConfig: settings, ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: 100}
	if p.upstream, err = rest.HTTPWrappersForConfig(config, p.transport); err != nil {
		return fmt.Errorf("read the operator's credentials: %w", err)
	}
	return nil
}

// Config returns a configuration for clients of the proxy.
func (p *Proxy) Config() *rest.Config {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return &rest.Config{Host: p.server.URL, BearerToken: "none", TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

// WriteKubeconfig writes the same as a file.
func (p *Proxy) WriteKubeconfig(path string) error {
	const name = "proxy"
	config := p.Config()
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	c.AuthInfos[name] = &api.AuthInfo{Token: config.BearerToken}
	c.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		return fmt.Errorf("write the proxy's kubeconfig: %w", err)
	}
	return nil
}

// Follow begins a track of the subject, or returns the existing one.
func (p *Proxy) Follow(subject string) *Track {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tracks[subject] == nil {
		p.tracks[subject] = newTrack(subject)
	}
	return p.tracks[subject]
}

// Forget ends the track of a subject, if there is one: requests about it are forwarded, and no longer kept.
func (p *Proxy) Forget(subject string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tracks, subject)
	p.over[subject] = true
}

// enter records a request for one object in the track with the longest subject that the request concerns. Requests about a subject
// whose track has ended are not kept, and neither are reads that concern no subject.
func (p *Proxy) enter(q Request, r *run) *visit {
	p.mu.Lock()
	var track *Track
	isOver := false
	for _, subject := range subjectsOf(q.identify()) {
		if t := p.tracks[subject]; t != nil && (track == nil || len(subject) > len(track.subject)) {
			track = t
		}
		isOver = isOver || p.over[subject]
	}
	p.mu.Unlock()
	switch {
	case track != nil:
		return track.enter(q, r)
	case q.writes() && !isOver:
		return p.unclaimed.enter(q, r)
	}
	return &visit{entry: &Entry{Request: q}}
}

// subjectsOf returns all subjects that names may concern: a name is the subject's, or begins with it and a hyphen.
func subjectsOf(names []string) (all []string) {
	for _, name := range names {
		for i := range name {
			if name[i] == '-' {
				all = append(all, name[:i])
			}
		}
		all = append(all, name)
	}
	return all
}

// Unclaimed returns, and forgets, the writes that concerned no subject when they arrived.
func (p *Proxy) Unclaimed() []Entry { return p.unclaimed.take() }

// Lists returns every LIST and WATCH, with the query that the operator sent. Bodies are not kept.
func (p *Proxy) Lists() []Entry { return p.lists.Journal() }

// Streams returns the faults of lists and watches.
func (p *Proxy) Streams() *Streams { return p.streams }

// Silence is the operator's death: it cuts every connection and forwards nothing more. When it returns, the writes that were
// already forwarded have been answered. The callback of an act may call it.
func (p *Proxy) Silence() {
	p.mu.Lock()
	r := p.run
	if !r.isOver() {
		close(r.over)
	}
	p.mu.Unlock()
	p.server.CloseClientConnections()
	r.writes.Wait() // each is bounded by settle
}

// Resume admits a new operator process.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run.isOver() {
		p.run = &run{over: make(chan struct{})}
	}
}

// admit registers a handler for the current run; it returns nil if that is over.
func (p *Proxy) admit() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run.isOver() {
		return nil
	}
	p.busy.Add(1)
	return p.run
}

// beginWrite registers a write of a run as forwarded, and reports false if the run is over.
func (p *Proxy) beginWrite(r *run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.isOver() {
		return false
	}
	r.writes.Add(1)
	return true
}

// Close ends everything that Start began.
func (p *Proxy) Close() error {
	p.Silence()
	p.close()
	p.busy.Wait()
	p.server.Close()
	p.transport.CloseIdleConnections()
	return nil
}

// serve handles one request of the operator.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	current := p.admit()
	if current == nil {
		cut()
	}
	defer p.busy.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		cut() // the operator died in the middle of the request
	}
	r.Header.Set("Accept", readable(r.Header.Get("Accept")))
	x := &exchange{p: p, run: current, w: w, r: r, sent: body}
	q, ok := parse(r, body)
	switch {
	case !ok:
		x.visit = &visit{entry: &Entry{}}
		x.answer(x.forward())
		return
	case q.Verb == "list" || q.Verb == "watch":
		x.visit = p.lists.enter(q, current)
	default:
		x.visit = p.enter(q, current)
	}
	defer x.visit.leave()
	switch q.Verb {
	case "list":
		x.list()
	case "watch":
		x.watch()
	default:
		x.awaitCrash()
		if x.visit.act == nil {
			x.answer(x.forward())
			return
		}
		x.visit.act.happen(x)
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
