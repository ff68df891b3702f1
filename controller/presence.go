package controller

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

const (
	// lookForKind is how often an absent resource is looked for, or one that lacks something, and checkOnKind how often
	// one that is as it should be.
	lookForKind, checkOnKind = 2 * time.Second, 30 * time.Second
)

// presence runs one watch for as long as the API server serves what is watched. A CRD that is missing, late, deleted
// or made anew is a gauge and a log line, and nobody else notices.
type presence struct {
	log         *zap.Logger
	gauge       prometheus.Gauge
	watchErrors prometheus.Counter
	// served asks the API server. One that does not answer serves nothing.
	served func(context.Context) (bool, error)
	// watch runs the informer until ctx ends.
	watch func(ctx context.Context, doubt func(error))

	// looked: the API server has said at least once whether it serves the resource.
	looked atomic.Bool
	// lacking: the resource is served, but not as it should be.
	lacking atomic.Bool
}

// newPresence: what is watched is named in logs and metrics.
func newPresence(c *Controller, name string) *presence {
	return &presence{log: c.log.With(zap.String("kind", name)), gauge: c.metrics.served.WithLabelValues(name),
		watchErrors: c.metrics.watchErrors.WithLabelValues(name)}
}

// keep watches whenever there is something to watch, until ctx ends. Absent is called when there turns out not to be.
func (p *presence) keep(ctx context.Context, absent func()) {
	for told := false; ctx.Err() == nil; {
		if served, err := p.served(ctx); served {
			told = false
			p.once(ctx)
		} else {
			p.looked.Store(err == nil)
			p.gauge.Set(0)
			if !told {
				told = true
				p.log.Warn("the API server does not serve this kind; waiting for its CRD", zap.Error(err))
				absent()
			}
		}
		pause(ctx, lookForKind) // also after a watch: API servers may disagree for a while on what they serve
	}
}

// once runs one watch until ctx ends or the resource is found to be gone.
func (p *presence) once(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	doubts := make(chan struct{}, 1)
	go p.checkOn(ctx, stop, doubts)
	p.looked.Store(true)
	p.gauge.Set(1)
	p.log.Info("watching")
	p.watch(ctx, func(err error) {
		p.watchErrors.Inc()
		p.log.Info("the watch was interrupted", zap.Error(err))
		switch {
		case apierrors.IsNotFound(err): // the resource is gone, and if it is back already it holds other objects
			p.gauge.Set(0)
			stop()
			return
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err): // or it was gone, and has come back in between
			stop()
			return
		}
		select {
		case doubts <- struct{}{}:
		default:
		}
	})
}

// checkOn stops the watch when the resource is no longer served: client-go would ask for it for ever, and a CRD that
// comes back holds other objects than the cache does.
func (p *presence) checkOn(ctx context.Context, stop func(), doubts <-chan struct{}) {
	for {
		next := checkOnKind
		if p.lacking.Load() {
			next = lookForKind
		}
		tick := time.NewTimer(next)
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		case <-doubts:
			tick.Stop()
		}
		if served, err := p.served(ctx); err == nil && !served {
			p.log.Warn("the API server has stopped serving this kind")
			p.gauge.Set(0)
			stop()
			return
		}
	}
}

// doubting tells doubt of every watch that could not start.
func doubting(doubt func(error)) cache.WatchErrorHandlerWithContext {
	return func(_ context.Context, _ *cache.Reflector, err error) { doubt(err) }
}
