package conversion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"stoic/convert/versions"
	"stoic/schema"
)

const (
	// Path is where API servers send reviews to.
	Path = "/convert"
	// DefaultLimit is the limit of one review, in bytes. API servers send one object at a time, and etcd holds none of more than 1.5 MiB.
	// This leaves room for a list of objects in one request, as API servers once sent it, and as other clients may.
	DefaultLimit = 16 << 20
	// mostObject is the size of the largest object, in bytes: an API server takes no larger request.
	mostObject = 3 << 20
	// decoded is how many bytes of objects are decoded at the same time, over all reviews. A byte of an object takes up to 40 bytes of
	// memory: {} is a map.
	decoded = 4 << 20
	// waitFor is how long a review waits for room. API servers give up after 30 seconds.
	waitFor = 10 * time.Second
)

// Options are all that New needs.
type Options struct {
	Kinds []versions.Kind
	// Registry gets the metrics. Their names begin with Prefix.
	Registry prometheus.Registerer
	Prefix   string
	Log      *zap.Logger
	Limit    int64 // bytes of one review; 0 is DefaultLimit
}

// Webhook is an http.Handler that converts objects.
//
//	the request is                                      the answer is
//	not a POST                                          405
//	not application/json                                415
//	larger than the limit                               413
//	no ConversionReview of apiextensions.k8s.io/v1      400
//	one of too many at the same time                    503, after ten seconds
//	a review of an object that is larger than an API    200, Failure, with a message
//	server accepts
//	a review of an object or to a version that is       200, Failure, with a message
//	not of these kinds
//	any other review                                    200, Success
//
// It knows no users: it returns what it is sent, and nothing else. The network must restrict who may reach it.
type Webhook struct {
	kinds   map[[2]string]*versions.Converter // by group and kind
	limit   int64
	room    room
	wait    time.Duration       // for room
	objects *semaphore.Weighted // of the bytes of objects that are decoded
	metrics *metrics
	log     *zap.Logger
	seldom  rate.Sometimes // limits the log lines about objects, which anybody can make
}

// New makes a Webhook. It fails if the table of a kind is wrong.
func New(o Options) (*Webhook, error) {
	w := &Webhook{kinds: map[[2]string]*versions.Converter{}, limit: cmp.Or(o.Limit, DefaultLimit), wait: waitFor, log: o.Log, seldom: rate.Sometimes{Interval: time.Minute}}
	var wrong []error
	for _, k := range o.Kinds {
		c, err := k.Converter()
		if err != nil {
			wrong = append(wrong, err)
		}
		if of := [2]string{k.Group, k.Name}; w.kinds[of] != nil {
			wrong = append(wrong, fmt.Errorf("the versions of %s: found twice", k.Name))
		} else {
			w.kinds[of] = c
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	w.room, w.objects = newRoom(w.limit), semaphore.NewWeighted(decoded)
	w.metrics = newMetrics(o.Registry, o.Prefix)
	return w, nil
}

// refusal is why a request is not answered with a review.
type refusal struct {
	code int
	why  string
}

// ServeHTTP: see Webhook.
func (w *Webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer, result, refused := w.serve(out, r)
	w.metrics.requests.WithLabelValues(result).Inc()
	if refused != nil {
		http.Error(out, refused.why, refused.code)
		return
	}
	w.metrics.durations.Observe(time.Since(began).Seconds())
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(answer) // the API server may have gone
}

// serve answers one request. The result is the label of the metric.
func (w *Webhook) serve(out http.ResponseWriter, r *http.Request) (answer []byte, result string, refused *refusal) {
	refuse := func(code int, why string) ([]byte, string, *refusal) {
		return nil, resultRefused, &refusal{code, why}
	}
	if r.Method != http.MethodPost {
		out.Header().Set("Allow", http.MethodPost)
		return refuse(http.StatusMethodNotAllowed, "must be POST")
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "must be application/json")
	}
	if r.ContentLength > w.limit {
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("must have at most %d bytes", w.limit))
	}
	ctx, cancel := context.WithTimeout(r.Context(), w.wait)
	defer cancel()
	held := place{room: &w.room}
	defer held.giveBack()
	body, err := held.read(ctx, http.MaxBytesReader(out, r.Body, w.limit), r.ContentLength)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("must have at most %d bytes", w.limit))
	case errors.Is(err, errNoRoom):
		return refuse(http.StatusServiceUnavailable, err.Error())
	case err != nil:
		return refuse(http.StatusBadRequest, "cannot be read")
	}
	request, err := parse(body)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	answer, err = w.review(ctx, request)
	switch {
	case errors.Is(err, errNoRoom):
		return refuse(http.StatusServiceUnavailable, err.Error())
	case err != nil:
		w.seldom.Do(func() {
			w.log.Warn("a conversion is refused", zap.String("error", schema.Clean(err.Error(), mostSaid)))
		})
		return failure(request.uid, err), resultFailed, nil
	}
	return answer, resultConverted, nil
}
