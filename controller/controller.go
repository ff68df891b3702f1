package controller

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"stoic/controller/apply"
	"stoic/controller/cache"
	"stoic/controller/election"
	"stoic/controller/events"
	"stoic/controller/serve"
	"stoic/controller/watch"
	"stoic/internal/lean"
	"stoic/schema"
)

// Controller moves the cluster towards what the objects specify.
//
//	API server
//	  | untyped watch, one per Watch                  watches of what objects own
//	  v                                               (typed: pods, services; untyped: all others)
//	Watch.Convert  in the informer's transform               |
//	  | Result = Object | Rejection, never an error          |
//	  v                                                      v
//	cache.Objects, by key                          cache.Dependents, by owner UID
//	  `----------------- keys ---> queue ---> worker <-------'
//	                                            | observe   caches, no older than our own writes (consistency); now
//	                                            v
//	                                          Watch.Decide  pure
//	                                            | Plan
//	                                            v
//	                                          apply         status -> annotations -> events -> deletions -> patches
//	                                            |           -> creations
//	                                            v
//	                                        API server, and back to its watches
//
// Data flows in one direction. All state is in the API server: what is kept here (queue, caches, required versions,
// emitted events) is keyed by UID and may be lost at any time.
type Controller struct {
	options    Options
	log        *zap.Logger
	metrics    *serve.Metrics
	leader     prometheus.Gauge
	source     cache.Source
	typed      *lean.Clients
	api        *apply.API
	emitter    *events.Emitter
	limiter    *apply.Limiter
	dependents []*cache.Dependents // of all watches, each once
	reads      map[*watch.Read]*cache.Dependents
	watchers   []*watcher
	timing     election.Timing
	// grace is how long running reconciles may take to finish after the stop signal. Of the 30 seconds that Kubernetes
	// gives, it leaves time to send events and to release the lease.
	grace time.Duration

	// elected is closed when this process may write; immediately if there is no election.
	elected chan struct{}
}

// New makes a controller; it connects to nothing and starts nothing. It fails only on options that cannot work.
func New(o Options) (*Controller, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Controller{options: o, log: o.Log, metrics: serve.NewMetrics(o.Registry, MetricsPrefix(o.Name)), elected: make(chan struct{}),
		reads: map[*watch.Read]*cache.Dependents{}, limiter: apply.NewLimiter(o.Workers, o.Now), timing: election.DefaultTiming(), grace: 15 * time.Second}
	c.leader = c.metrics.Leader.WithLabelValues(leaseName(o))
	if err := c.connect(); err != nil {
		return nil, err
	}
	for _, w := range o.Watches {
		c.watchers = append(c.watchers, newWatcher(c, w.WithDefaults()))
	}
	for _, d := range c.dependents {
		d.ServeWhile(func() (served, known bool) { return c.isOwnerServed(d) })
	}
	return c, nil
}

// leaseName returns the name of the lease, or that of the operator if there is no election.
func leaseName(o Options) string {
	if o.Lease == nil {
		return o.Name
	}
	return o.Lease.Name
}

// MetricsPrefix returns the prefix of the names of the engine's own metrics.
func MetricsPrefix(operator string) string { return strings.ReplaceAll(operator, "-", "_") }

// Config returns the configuration for clients whose requests, and whose missing rights, are counted with the
// controller's.
func (c *Controller) Config() *rest.Config { return c.metrics.Instrument(c.options.Config, c.log) }

// connect makes the clients.
func (c *Controller) connect() error {
	config := c.Config()
	untyped, err := lean.NewUntyped(config)
	if err != nil {
		return err
	}
	found, err := cache.NewDiscovery(config)
	if err != nil {
		return err
	}
	c.source = cache.Source{Client: untyped, Discovery: found, Namespace: c.options.Namespace,
		Metrics: c.metrics, Log: c.log}
	var names []string
	for _, w := range c.options.Watches {
		for _, owned := range w.Owns {
			names = append(names, owned.Names...)
		}
	}
	if c.typed, err = lean.NewClients(config, names); err != nil {
		return err
	}
	if c.api, err = apply.NewAPI(config); err != nil {
		return err
	}
	c.emitter, err = events.NewEmitter(config, events.Options{Reporter: c.options.Name, Identity: c.options.Identity, QPS: c.options.EventQPS,
		Log: c.log, Metrics: c.metrics, Now: c.options.Now, Count: c.count})
	return err
}

// count passes an event that was sent to the watch of the object that it is about.
func (c *Controller) count(head *schema.Head, counted schema.Count) {
	for _, w := range c.watchers {
		if w.Resource == head.Resource {
			w.count(head, counted)
		}
	}
}

// dependentsOf returns the one cache of an Owned, made when the first watch lists it.
func (c *Controller) dependentsOf(owned *Owned) *cache.Dependents {
	for _, d := range c.dependents {
		if d.Owned == owned {
			return d
		}
	}
	source := c.source
	if c.isEverywhere(owned) {
		source.Namespace = ""
	}
	var d *cache.Dependents
	d = cache.NewDependents(source, c.typed, owned, c.wake, func() { c.wakeAll(d) })
	d.OnOrphan(func(orphan schema.Candidate) { c.wakeClaimants(d, orphan) })
	c.dependents = append(c.dependents, d)
	return d
}

// isOwnerServed reports whether a resource that owns what a cache holds is served; known, if the API server has
// answered for all of them.
func (c *Controller) isOwnerServed(d *cache.Dependents) (served, known bool) {
	known = true
	for _, w := range c.watchers {
		if slices.Contains(w.dependents, d) {
			is, said := w.objects.Served()
			served, known = served || is, known && said
		}
	}
	return served, known
}

// isEverywhere reports whether children may be in namespaces other than their owner's, even in namespaces that are not
// served.
func (c *Controller) isEverywhere(owned *Owned) bool {
	return owned.OwnerAnnotation != "" || slices.ContainsFunc(c.options.Watches, func(w Watch) bool { return w.Resource.Cluster && slices.Contains(w.Owns, owned) })
}

// readsOf returns the one cache of a Read, made when the first watch lists it.
func (c *Controller) readsOf(read *watch.Read) *cache.Dependents {
	if d := c.reads[read]; d != nil {
		return d
	}
	var d *cache.Dependents
	d = cache.NewReads(c.source, read, func() { c.wakeAll(d) })
	c.reads[read] = d
	return d
}

// wakeAll enqueues all objects that may own what a cache holds, when the cache becomes readable or unreadable.
func (c *Controller) wakeAll(d *cache.Dependents) {
	for _, w := range c.watchers {
		if (slices.Contains(w.dependents, d) || slices.Contains(w.reads, d)) && c.mayWrite() {
			w.enqueueAll()
		}
	}
}

// wake enqueues the owner of a child, and the owner of that owner. Owners of resources that no watch serves are
// ignored.
func (c *Controller) wake(owner cache.Owner) {
	if !c.mayWrite() {
		return
	}
	c.enqueueOwner(owner)
	for _, d := range c.dependents {
		if further := d.OwnerOf(owner); further.UID != "" {
			c.enqueueOwner(further)
		}
	}
}

func (c *Controller) enqueueOwner(owner cache.Owner) {
	for _, w := range c.watchers {
		if owner.Is(w.Resource) {
			head := schema.Head{}
			if head.Meta.Name = owner.Name; !w.Resource.Cluster {
				head.Meta.Namespace = owner.Namespace
			}
			w.queue.Add(head.Key())
		}
	}
}

// Run serves until ctx ends, then stops in order: no reconcile begins, running ones finish, emitted events are sent,
// the lease is released. It returns nil after a graceful stop.
func (c *Controller) Run(ctx context.Context) error {
	var running sync.WaitGroup
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer running.Wait()
	defer stopWatching()

	for _, d := range c.dependents {
		running.Go(func() { d.Serve(watching) })
	}
	for _, d := range c.reads {
		running.Go(func() { d.Serve(watching) })
	}
	for _, w := range c.watchers {
		running.Go(func() { w.objects.Serve(watching) })
	}
	lead := election.Election{Config: c.Config(), Lease: c.options.Lease, Identity: c.options.Identity, Timing: c.timing, Log: c.log}
	err := lead.Lead(ctx, func(leading, writing context.Context) error {
		if !toolscache.WaitForCacheSync(leading.Done(), c.childrenReady) {
			return nil // stopped before it began
		}
		c.work(leading, writing)
		return nil
	})
	for _, w := range c.watchers {
		w.queue.ShutDown()
	}
	c.emitter.ShutDown()
	c.log.Info("stopped", zap.Error(err))
	return err
}

// work runs the workers of every watch until leading ends, and returns when the last reconcile and the last event are
// done, or when writing has ended too.
func (c *Controller) work(leading, writing context.Context) {
	emitting, stopEmitting := context.WithCancel(writing)
	defer stopEmitting()
	var emitter sync.WaitGroup
	emitter.Go(func() { c.emitter.Run(emitting) })

	finishing, stopFinishing := context.WithCancel(writing)
	defer stopFinishing()
	close(c.elected)
	c.leader.Set(1)
	defer c.leader.Set(0)
	var workers sync.WaitGroup
	for _, w := range c.watchers {
		w.enqueueAll()
		for range c.options.Workers {
			workers.Go(func() { w.work(leading, finishing) })
		}
	}
	<-leading.Done()
	c.log.Info("stopping: finishing the reconciles that run")
	for _, w := range c.watchers {
		w.queue.ShutDown()
	}
	enough := time.AfterFunc(c.grace, stopFinishing)
	defer enough.Stop()
	workers.Wait()
	c.emitter.Drain(writing, 5*time.Second)
	stopEmitting()
	emitter.Wait()
}

// mayWrite reports whether this process leads. A standby enqueues no keys: they would pile up, among them those of
// objects that no longer exist.
func (c *Controller) mayWrite() bool {
	select {
	case <-c.elected:
		return true
	default:
		return false
	}
}

func (c *Controller) childrenReady() bool { return c.notReady() == "" }

// notReady returns a resource that decisions depend on and that has not been read yet, or "".
func (c *Controller) notReady() string {
	for _, d := range c.dependents {
		if !d.Ready() {
			return d.Resource.Plural
		}
	}
	for _, d := range c.reads {
		if !d.Settled() {
			return d.Resource.Plural
		}
	}
	return ""
}

// HealthHandler serves /healthz (the process answers and no reconcile hangs) and /readyz (everything that the API
// server serves has been read). A standby is ready: it could lead immediately.
func (c *Controller) HealthHandler() http.Handler {
	return serve.HealthHandler(func() string {
		for _, w := range c.watchers {
			if w.hangs() {
				return "a reconcile of " + w.Resource.Plural + " hangs"
			}
		}
		return ""
	}, func() string {
		if unread := c.Unread(); unread != "" {
			return unread + " have not been read yet"
		}
		return ""
	})
}

// Unread returns the plural of a resource whose objects have not been read yet, or "" if all that the API server serves
// have been.
func (c *Controller) Unread() string {
	if waits := c.notReady(); waits != "" {
		return waits
	}
	for _, w := range c.watchers {
		if !w.objects.Ready() {
			return w.Resource.Plural
		}
	}
	return ""
}
