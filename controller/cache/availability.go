package cache

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/serve"
	"stoic/schema"
)

const (
	// recheckAbsent is how often to check for a resource that is absent or lacks something, recheckServed how often for one that is an
	// alternative or has one. After recheckServed, a resource whose watch was interrupted or renewed is also checked once more: discovery
	// may be late. There is no check while a watch continues: an API server ends the watches of a CRD that is changed or deleted within a
	// second or two.
	recheckAbsent, recheckServed = 2 * time.Second, 30 * time.Second
	// recheckUnknown is how often to check whether the owner of children is served, while that is unknown.
	recheckUnknown = 20 * time.Millisecond
)

// availability runs one watch for as long as the API server serves the resource. A CRD that is missing, late, deleted or recreated shows
// in a gauge and a log line, and disturbs no other resource.
type availability struct {
	log         *zap.Logger
	gauge       prometheus.Gauge
	watchErrors prometheus.Counter
	size        size
	// served asks the API server. A resource for which there is no answer is not watched.
	served func(context.Context) (bool, error)
	// watch runs the informer until ctx ends. It reports each failure, and nil for each watch that continues one that ended.
	watch func(ctx context.Context, report func(error))
	// builtin: every API server serves the resource, so it is never asked whether it does.
	builtin bool
	// alternative: see watch.Owned.Alternative.
	alternative bool
	// contested: while another version is served, too, this one is not.
	contested bool
	// yields: that is so now, and served has logged it.
	yields atomic.Bool
	// pause waits between two questions.
	pause func(context.Context, time.Duration)
	now   func() time.Time
	after func(time.Duration) <-chan time.Time

	// absent: the API server does not serve the resource, by its last answer.
	absent atomic.Bool
	// silent: the API server did not answer when it was last asked whether it serves the resource.
	silent atomic.Bool
	// read: an informer that has ended had read all objects, and the resource was never absent since.
	read atomic.Bool
	// lacking: the resource is served, but not as it should be.
	lacking atomic.Bool
}

// newAvailability names the resource in logs and metrics by its kind. Whether it is served is a metric if that may change.
func newAvailability(kind string, mayChange bool, log *zap.Logger, m *serve.Metrics) *availability {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{Name: "unpublished"})
	if mayChange {
		gauge = m.Served.WithLabelValues(kind)
	}
	return &availability{log: log.With(zap.String("kind", kind)), gauge: gauge,
		watchErrors: m.WatchErrors.WithLabelValues(kind), size: size{gauge: m.Cached.WithLabelValues(kind)}, pause: pause, now: time.Now, after: time.After}
}

// run watches whenever the resource is served, until ctx ends. absent is called each time that the API server begins to report it as not
// served.
func (a *availability) run(ctx context.Context, absent func()) {
	for failed := false; ctx.Err() == nil; {
		served, err := a.served(ctx)
		a.silent.Store(err != nil)
		next := recheckAbsent // also after a watch: API servers may disagree for a while on what they serve
		switch {
		case served:
			a.absent.Store(false)
			began := a.now()
			if expired := a.once(ctx); expired && a.now().Sub(began) >= recheckAbsent {
				next = 0 // nothing is reconciled meanwhile
			}
		case err != nil: // what the API server said before holds
			a.gauge.Set(0)
			if !failed {
				a.log.Warn("it is not known whether the API server serves this kind; asking again", zap.Error(err))
			}
		case !a.absent.Swap(true):
			a.read.Store(false)
			a.gauge.Set(0)
			switch {
			case a.yields.Load():
			case a.alternative:
				a.log.Info("the API server does not serve this version")
			default:
				a.log.Warn("the API server does not serve this kind; waiting for its CRD")
			}
			absent()
		}
		failed = err != nil
		if a.alternative && err == nil && !served {
			next = recheckServed
		}
		a.pause(ctx, next)
	}
}

// once runs one watch until ctx ends, the resource is no longer served, or the API server has no history for the watch. It reports
// whether the last is why: the watch has expired.
func (a *availability) once(ctx context.Context) bool {
	var expired atomic.Bool
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	doubts := make(chan struct{}, 1)
	if !a.builtin {
		go a.recheck(ctx, stop, doubts)
	}
	a.gauge.Set(1)
	a.log.Info("watching")
	var interrupted interruption
	a.watch(ctx, func(err error) {
		if ctx.Err() != nil {
			return // we have ended it ourselves: the error says how its stream was closed
		}
		if err != nil {
			a.watchErrors.Inc()
		}
		if interrupted.isLogged(err, a.now()) {
			a.log.Info("the watch was interrupted", zap.Error(err))
		}
		switch {
		case a.builtin:
			return
		case apierrors.IsNotFound(err): // the resource is gone, and if it is back already it holds other objects
			a.gauge.Set(0)
			stop()
			return
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err): // or it was gone, and has come back in between
			expired.Store(true)
			stop()
			return
		}
		select {
		case doubts <- struct{}{}:
		default:
		}
	})
	return expired.Load()
}

// recheck stops the watch when the resource is no longer served: client-go would retry it forever, and a recreated CRD holds other
// objects than the cache does.
func (a *availability) recheck(ctx context.Context, stop func(), doubts <-chan struct{}) {
	for doubted := true; ; {
		var again <-chan time.Time // never
		switch {
		case a.lacking.Load():
			again = a.after(recheckAbsent)
		case doubted || a.alternative || a.contested:
			again = a.after(recheckServed)
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
			doubted = false
		case <-doubts:
			doubted = true
		}
		if served, err := a.served(ctx); err == nil && !served {
			if !a.yields.Load() {
				a.log.Warn("the API server has stopped serving this kind")
			}
			a.gauge.Set(0)
			stop()
			return
		}
	}
}

// reportStart reports every watch that could not start.
func reportStart(report func(error)) cache.WatchErrorHandlerWithContext {
	return func(_ context.Context, _ *cache.Reflector, err error) { report(err) }
}

// asks returns whether the API server serves a resource, and its status subresource.
func asks(ctx context.Context, d *Discovery, r schema.Resource) (served, status bool, _ error) {
	list, err := d.resourcesOf(ctx, r)
	if err != nil {
		return false, false, err
	}
	for i := range list.APIResources {
		switch found := &list.APIResources[i]; found.Name {
		case r.Plural:
			served = true
			if err := isAsNamed(r, found); err != nil {
				return false, false, err
			}
		case r.Plural + "/status":
			status = true
		}
	}
	return served, status, nil
}

// isAsNamed returns an error if the API server serves a resource with another scope or kind than the operator was written for. The
// operator would wait for keys that never come, or request paths that do not exist.
func isAsNamed(r schema.Resource, served *metav1.APIResource) error {
	scope := map[bool]string{true: "in namespaces", false: "for the cluster"}
	switch {
	case served.Namespaced == r.Cluster:
		return fmt.Errorf("the API server serves %s of %s %s, and the operator looks for them %s", r.Plural, r.APIVersion(), scope[served.Namespaced], scope[!served.Namespaced])
	case served.Kind != r.Kind:
		return fmt.Errorf("the API server serves %s of %s as the kind %s, and the operator takes them for %s", r.Plural, r.APIVersion(), schema.Clean(served.Kind, 63), r.Kind)
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
