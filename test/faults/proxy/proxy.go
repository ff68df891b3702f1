package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"net"
	"net/http"
	"net/url"
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
	authority []byte            // PEM

	listener *connections
	server   *http.Server
	served   chan struct{} // closed when the server serves no more
	closing  context.Context
	close    context.CancelFunc

	streams *Streams
	lists   *Track
	// unclaimed has the writes that concern no subject.
	unclaimed *Track

	mu     sync.Mutex
	runs   map[string]*run // by process
	tracks map[string]*Track
	over   map[string]bool // subjects whose tracks have ended
	silent bool
	only   map[string]string // by resource: the label selector
	busy   sync.WaitGroup    // handlers
}

// run is the time from a Resume to a Silence: that of one operator process.
type run struct {
	process string
	over    chan struct{}
	// writes are those that were sent to the API server. They end, whatever happens to the operator.
	writes sync.WaitGroup
}

// settle bounds how long a forwarded write may take.
const settle = 30 * time.Second

// Start listens on the loopback address and forwards to the API server of the configuration, with its credentials.
func Start(upstream *rest.Config) (*Proxy, error) {
	p := &Proxy{
		served: make(chan struct{}), streams: newStreams(), lists: newTrack(""), unclaimed: newTrack(""), tracks: map[string]*Track{}, only: map[string]string{},
		runs: map[string]*run{}, over: map[string]bool{},
	}
	if err := p.dial(upstream); err != nil {
		return nil, err
	}
	certificate, authority, err := selfSigned()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the operator: %w", err)
	}
	p.authority = authority
	p.listener = &connections{Listener: listener, open: map[*connection]bool{}}
	p.closing, p.close = context.WithCancel(context.Background())
	p.server = &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}},
		ConnContext: withConnection,
		HTTP2:       &http.HTTP2Config{MaxConcurrentStreams: 2000},
		ErrorLog:    log.New(io.Discard, "", 0), // of connections that were cut
	}
	go func() {
		defer close(p.served)
		// Only Close ends it.
		p.server.ServeTLS(p.listener, "", "")
	}()
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

// address returns the URL of the proxy.
func (p *Proxy) address() string { return "https://" + p.listener.Addr().String() }

// Config returns the content of WriteKubeconfigOf's file, for clients in this process.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.address(), BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: p.authority}}
}

// token is what such clients send to the proxy. Each process of an operator sends its name.
const token = "none"

// WriteKubeconfigOf writes a kubeconfig for a process of an operator. The token in it names the process to the proxy.
func (p *Proxy) WriteKubeconfigOf(path, process string) error {
	const name = "proxy"
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: p.address(), CertificateAuthorityData: p.authority}
	c.AuthInfos[name] = &api.AuthInfo{Token: process}
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
	if t := p.tracks[subject]; t != nil {
		return t
	}
	t := newTrack(subject)
	p.tracks[subject] = t
	return t
}

// trackOf returns the track with the longest subject that one of the names concerns.
func (p *Proxy) trackOf(names []string) *Track {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *Track
	for subject := range subjectsOf(names) {
		if t := p.tracks[subject]; t != nil && (found == nil || len(subject) > len(found.subject)) {
			found = t
		}
	}
	return found
}

// subjectsOf yields all subjects that names may concern: see concerns.
func subjectsOf(names []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, name := range names {
			for i := range len(name) {
				if name[i] == '-' && !yield(name[:i]) {
					return
				}
			}
			if !yield(name) {
				return
			}
		}
	}
}

// enter records a request for one object in its track. Requests about a subject whose track has ended are not kept, and neither
// are reads that concern no subject.
func (p *Proxy) enter(q Request, l *run) *visit {
	names := q.identify()
	switch t := p.trackOf(names); {
	case t != nil:
		return t.enter(q, l)
	case q.writes() && !p.isOver(names):
		return p.unclaimed.enter(q, l)
	}
	return &visit{entry: &Entry{Request: q}}
}

// isOver reports whether one of the names concerns a subject whose track has ended.
func (p *Proxy) isOver(names []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for subject := range subjectsOf(names) {
		if p.over[subject] {
			return true
		}
	}
	return false
}

// Unclaimed returns, and forgets, the writes that concerned no subject when they arrived.
func (p *Proxy) Unclaimed() []Entry { return p.unclaimed.take() }

// Select restricts a cluster-scoped resource to a label selector: operators that share an API server do not see each other's
// objects. It applies to lists and watches that begin later.
func (p *Proxy) Select(resource, selector string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.only[resource] = selector
}

// narrow adds the selector of Select to the query of a list or watch.
func (p *Proxy) narrow(r *http.Request, q Request) {
	p.mu.Lock()
	selector := p.only[q.Resource]
	p.mu.Unlock()
	if selector == "" || q.Namespace != "" {
		return
	}
	query := r.URL.Query()
	if asked := query.Get("labelSelector"); asked != "" {
		selector = asked + "," + selector
	}
	query.Set("labelSelector", selector)
	r.URL.RawQuery = query.Encode()
}

// Lists returns every LIST and WATCH, with the query that the operator sent. Bodies are not kept.
func (p *Proxy) Lists() []Entry { return p.lists.Journal() }

// Streams returns the faults of lists and watches.
func (p *Proxy) Streams() *Streams { return p.streams }

// Silence is the operator's death: it cuts every connection and forwards nothing more. When it returns, the writes that were
// already forwarded have been answered. A Do may call it.
func (p *Proxy) Silence() {
	p.mu.Lock()
	p.silent = true
	var ended []*run
	for _, l := range p.runs {
		ended = append(ended, l)
		l.end()
	}
	p.mu.Unlock()
	p.listener.silence(true)
	for _, l := range ended {
		l.writes.Wait() // each is bounded by settle
	}
}

// SilenceOf is the death of one process of an operator that runs as several: the same, but the connections of the others stay.
func (p *Proxy) SilenceOf(process string) {
	p.mu.Lock()
	l := p.runOf(process)
	l.end()
	p.mu.Unlock()
	p.listener.cutOf(process)
	l.writes.Wait()
}

// Resume admits a new operator process.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent {
		p.silent, p.runs = false, map[string]*run{}
		p.listener.silence(false)
	}
}

// ResumeOf admits a new process of that name.
func (p *Proxy) ResumeOf(process string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runOf(process).dead() {
		delete(p.runs, process)
	}
}

// runOf returns the current or last run of a process. The caller holds the lock.
func (p *Proxy) runOf(process string) *run {
	l := p.runs[process]
	if l == nil {
		l = &run{process: process, over: make(chan struct{})}
		p.runs[process] = l
		if p.silent {
			l.end()
		}
	}
	return l
}

// end ends a run, once. The caller holds the proxy's lock.
func (l *run) end() {
	if !l.dead() {
		close(l.over)
	}
}

func (l *run) dead() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// begin registers a write of this run as forwarded, and reports false if the run is over.
func (p *Proxy) begin(l *run) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.dead() {
		return false
	}
	l.writes.Add(1)
	return true
}

// Close ends everything that Start began.
func (p *Proxy) Close() error {
	p.Silence()
	p.close()
	err := p.server.Close()
	<-p.served
	p.busy.Wait()
	p.transport.CloseIdleConnections()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the proxy: %w", err)
	}
	return nil
}

// admit registers a handler for the run of the process that sent the request; it returns nil if the run is over.
func (p *Proxy) admit(process string) *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.runOf(process)
	if l.dead() {
		return nil
	}
	p.busy.Add(1)
	return l
}
