package serve

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"
)

// headerAuditID is the header in which API servers return the id that a request has in their audit log.
const headerAuditID = "Audit-Id"

// Instrument returns a config whose clients count their requests, and log those that fail, with the id that they have in the API server's
// audit log. It wraps the transport of this config alone, whereas client-go's hooks are global to the process.
func (m *Metrics) Instrument(config *rest.Config, log *zap.Logger) *rest.Config {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, m, log} })
	return c
}

type counting struct {
	next    http.RoundTripper
	metrics *Metrics
	log     *zap.Logger
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	begin := time.Now()
	response, err := c.next.RoundTrip(r)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(response.StatusCode)
		if response.StatusCode >= http.StatusBadRequest {
			c.failed(r, response)
		}
		if response.StatusCode == http.StatusForbidden {
			c.noteMissingRight(response)
		}
	}
	c.metrics.requests.WithLabelValues(code, r.Method, r.URL.Host).Inc()
	c.metrics.durations.WithLabelValues(r.Method, r.URL.Host).Observe(time.Since(begin).Seconds())
	return response, err
}

// failed notes an answer of 400 or above. Many are expected, such as a name that is taken or an object that is gone, so each is logged
// only at the level "debug". A reconcile that fails has a log line of its own.
func (c counting) failed(r *http.Request, response *http.Response) {
	id := response.Header.Get(headerAuditID)
	if f, ok := r.Context().Value(failuresKey{}).(*Failures); ok {
		f.note(id)
	}
	if line := c.log.Check(zap.DebugLevel, "the API server refused a request"); line != nil {
		line.Write(zap.String("method", r.Method), zap.String("path", r.URL.Path), zap.Int("code", response.StatusCode), zap.String("auditID", id))
	}
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (c counting) WrappedRoundTripper() http.RoundTripper { return c.next }

// Failures are the requests that failed on behalf of one context, by their ids in the API server's audit log.
type Failures struct {
	mu  sync.Mutex
	ids []string
}

// mostFailures bounds how many ids one log line has.
const mostFailures = 8

type failuresKey struct{}

// WithFailures returns a context, and the requests that fail on behalf of that context.
func WithFailures(ctx context.Context) (context.Context, *Failures) {
	f := &Failures{}
	return context.WithValue(ctx, failuresKey{}, f), f
}

func (f *Failures) note(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id != "" && len(f.ids) < mostFailures {
		f.ids = append(f.ids, id)
	}
}

// AuditIDs returns the ids of the first few.
func (f *Failures) AuditIDs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ids)
}
