package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Proxy is between one operator and its API server.
type Proxy struct {
	transport *http.Transport
	upstream  http.RoundTripper // the transport, with the credentials of the operator's user
	server    *httptest.Server
	streams   *Streams

	mu    sync.Mutex
	run   *run
	track *Track
}

// run is the time from a Resume to a Silence: that of one operator process.
type run struct {
	isOver bool // guarded by the proxy's lock
	// writes are those that were sent to the API server. They end, whatever happens to the operator.
	writes sync.WaitGroup
}

// runOf is the key of a request's run in its context.
type runOf struct{}

// settle bounds how long a forwarded write may take.
const settle = 30 * time.Second

// errCut ends a request without an answer. With HTTP/2 it resets the stream; client-go does not retry such a write.
var errCut = errors.New("the connection is cut")

// Start listens on the loopback address and forwards to the API server of the configuration, with its credentials.
func Start(upstream *rest.Config) (*Proxy, error) {
	p := &Proxy{streams: newStreams(), run: &run{}}
	base, err := p.dial(upstream)
	if err != nil {
		return nil, err
	}
	p.Follow("")
	quiet := log.New(io.Discard, "", 0) // of connections that were cut
	reverse := &httputil.ReverseProxy{
		Transport:     p,
		FlushInterval: -1,
		ErrorLog:      quiet,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(base)
			r.Out.Header.Del("Authorization")
			r.Out.Header.Del("Accept-Encoding") // lines of plain text can be told apart
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		current := p.run
		p.mu.Unlock()
		reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), runOf{}, current)))
	}))
	p.server.EnableHTTP2 = true
	p.server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2000}
	p.server.Config.ErrorLog = quiet
	p.server.StartTLS()
	return p, nil
}

// dial prepares the connection to the API server: HTTP/2, not compressed, and not shared, so that Close can end it.
func (p *Proxy) dial(config *rest.Config) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	settings, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the operator's certificate: %w", err)
	}
	p.transport = &http.Transport{TLSClientConfig: settings, ForceAttemptHTTP2: true, DisableCompression: true, MaxIdleConnsPerHost: 100}
	if p.upstream, err = rest.HTTPWrappersForConfig(config, p.transport); err != nil {
		return nil, fmt.Errorf("read the operator's credentials: %w", err)
	}
	return base, nil
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

// Follow begins the track of a subject. It ends the one before: requests about its subject are forwarded, and no longer kept.
func (p *Proxy) Follow(subject string) *Track {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.track = &Track{proxy: p, subject: subject}
	return p.track
}

// Streams returns the faults of lists and watches.
func (p *Proxy) Streams() *Streams { return p.streams }

// Silence is the operator's death: it cuts every connection and forwards nothing more. When it returns, the writes that were
// already forwarded have been answered. A function that an act calls may call it.
func (p *Proxy) Silence() {
	p.mu.Lock()
	r := p.run
	r.isOver = true
	p.mu.Unlock()
	p.server.CloseClientConnections()
	r.writes.Wait() // each is bounded by settle
}

// Resume admits a new operator process.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run.isOver {
		p.run = &run{}
	}
}

// Close ends everything that Start began.
func (p *Proxy) Close() {
	p.Silence()
	p.server.Close()
	p.transport.CloseIdleConnections()
}

// RoundTrip handles one request of the operator.
func (p *Proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err // the operator died in the middle of the request
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.Header.Set("Accept", readable(r.Header.Get("Accept")))
	q := parse(r, body)
	current, _ := r.Context().Value(runOf{}).(*run)
	v, err := p.enter(q, current)
	switch {
	case err != nil:
		return nil, err
	case q.Verb == "list":
		p.streams.list(r)
		return p.upstream.RoundTrip(r)
	case q.Verb == "watch":
		return p.watch(r, q.Resource)
	case v.act == nil:
		return v.forward(r)
	}
	return v.suffer(r)
}

// visit is one request on its way through the proxy.
type visit struct {
	proxy *Proxy
	run   *run
	track *Track // nil if the request does not concern the subject of the track
	entry *Entry
	act   *Act // nil: none
}

// enter numbers and records a request about the subject, and decides whether the fault strikes it. From the decision to crash at a
// write on, nothing else of the operator is forwarded. The writes that were numbered before are sent, and Silence waits for them.
func (p *Proxy) enter(q Request, r *run) (*visit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.isOver {
		return nil, errCut
	}
	v := &visit{proxy: p, run: r, entry: &Entry{Request: q, Began: time.Now()}}
	t := p.track
	if q.Verb != "list" && q.Verb != "watch" && q.subject() == t.subject && t.subject != "" {
		v.track = t
		t.journal = append(t.journal, v.entry)
		if q.writes() {
			t.writes++
			v.entry.Number = t.writes
			if t.fault.isDue(t.writes) {
				v.act = &t.fault.Act
				v.entry.Fault = v.act.name
				r.isOver = v.act.crashes
			}
		}
	}
	if q.writes() && (v.act == nil || v.act.forwards) {
		r.writes.Add(1)
	}
	return v, nil
}

// forward sends a request for one object to the API server and returns its answer. A write in flight arrives even if the operator dies,
// as its result must be known.
func (v *visit) forward(r *http.Request) (*http.Response, error) {
	if v.entry.writes() {
		defer v.run.writes.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), settle)
		defer cancel()
		r = r.WithContext(ctx)
	}
	response, err := v.proxy.upstream.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	v.proxy.mu.Lock()
	defer v.proxy.mu.Unlock()
	v.entry.Forwarded = true
	v.entry.Code = response.StatusCode
	v.entry.Body = body
	if v.entry.Name == "" && v.entry.Verb == "create" {
		v.entry.Name = readNames(body).Metadata.Name
	}
	return response, nil
}

// suffer executes the act on a write.
func (v *visit) suffer(r *http.Request) (response *http.Response, err error) {
	if v.act.forwards {
		response, err = v.forward(r)
	}
	if v.act.do != nil {
		v.act.do()
	}
	v.proxy.mu.Lock()
	v.track.struck++
	v.track.last = time.Now()
	v.proxy.mu.Unlock()
	switch {
	case v.act.refuses != 0:
		return refusal(r, v.entry.Request, v.act.refuses)
	case v.act.answers:
		return response, err
	}
	return nil, errCut
}

// refusal answers in place of the API server. A 409 has the reason Conflict even for a creation: AlreadyExists would be a false
// statement about the cluster, and not a fault.
func refusal(r *http.Request, q Request, code int) (*http.Response, error) {
	header := http.Header{"Content-Type": {"application/json"}}
	seconds := 0
	if code == http.StatusTooManyRequests {
		seconds = 1
		header.Set("Retry-After", "1")
	}
	status := apierrors.NewGenericServerResponse(code, "put", schema.GroupResource{Group: q.Group, Resource: q.Resource}, q.Name, "injected", seconds, false).Status()
	if code == http.StatusGone {
		status.Reason = metav1.StatusReasonExpired
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(text)), Request: r, ProtoMajor: 1}, nil
}
