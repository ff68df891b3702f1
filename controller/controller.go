package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"stoic/controller/lean"
	"stoic/controller/plan"
	"stoic/convert"
	"stoic/schema"
)

// Watched is one kind to serve: what it is called, what converts it and what plans it. A kind whose planner
// is not that of jobs is served by the same engine.
type Watched struct {
	Kind    *schema.Kind
	Convert Converter
	Plan    func(plan.Observed) plan.Plan
}

// Jobs are the watched kinds of package schema, with the converter and the planner of jobs.
func Jobs(kinds []*schema.Kind) []Watched {
	watched := make([]Watched, len(kinds))
	for i, kind := range kinds {
		watched[i] = Watched{Kind: kind, Convert: convert.Object, Plan: plan.Make}
	}
	return watched
}

// Options are what a controller is made of. Every field but Election and Namespace is required.
type Options struct {
	Config    *rest.Config
	Watched   []Watched
	Namespace string  // "" is all
	Workers   int     // per kind
	EventQPS  float32 // events per second; negative for no limit
	Identity  string  // who reports events and holds the lease: the pod's name
	Election  *Election
	Log       *zap.Logger
	Registry  prometheus.Registerer
	Now       func() time.Time
}

// Controller moves the cluster towards what the objects ask for.
//
//	API server
//	  | untyped watch, one per kind (kindLoop)       typed watch: pods, services (children);
//	  |                                              untyped: what else jobs ask for (extraWatch)
//	  v                                                       |
//	convert.Object  in the informer's transform               |
//	  | Result = Job | Rejection, never an error              |
//	  v                                                       v
//	store of results, by key                       store of slim children, by owner UID
//	  `----------------- keys ---> queue ---> worker <--------'
//	                                            | observe   stores, not older than own writes; now
//	                                            v
//	                                          plan.Make     pure
//	                                            | Plan
//	                                            v
//	                                          execute       status -> events -> deletions -> updates -> creations
//	                                            |
//	                                            v
//	                                        API server      and round again
//
// Data goes one way. All state is in the API server: what is kept here (queue, stores, floors, told events)
// is keyed by UID and may be lost at any time.
type Controller struct {
	options  Options
	log      *zap.Logger
	metrics  *metrics
	api      *api
	children *children
	extras   []*extraWatch
	emitter  *emitter
	loops    []*kindLoop
	breadth  *breadth
	pace     pace
	// grace is how long running passes may take to finish when the stop comes. It leaves time, of the 30 seconds that
	// Kubernetes gives, to tell events and to give the lease back.
	grace time.Duration

	// elected is closed when this process may write; at once if there is no election.
	elected chan struct{}
}

// New connects nothing and starts nothing; it fails only on options that cannot work.
func New(o Options) (*Controller, error) {
	if len(o.Watched) == 0 {
		return nil, errors.New("no kind to serve")
	}
	m := newMetrics(o.Registry)
	config := instrument(o.Config, m)
	untyped, err := lean.NewUntyped(config)
	if err != nil {
		return nil, err
	}
	asked, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the discovery client: %w", err)
	}
	writer, err := newAPI(config)
	if err != nil {
		return nil, err
	}
	emit, err := newEmitter(config, o, m)
	if err != nil {
		return nil, err
	}
	c := &Controller{options: o, log: o.Log, metrics: m, api: writer, emitter: emit, elected: make(chan struct{}), breadth: newBreadth(atOnce*max(o.Workers, 1), o.Now),
		pace: pace{lease: 15 * time.Second, renew: 10 * time.Second, retry: 2 * time.Second}, grace: 15 * time.Second}
	if c.children, err = newChildren(config, o, c.wake); err != nil {
		return nil, err
	}
	for _, w := range o.Watched {
		l := newKindLoop(c, w, untyped, asked)
		for _, r := range w.Kind.ExtraResources() {
			l.extras = append(l.extras, c.extra(r, untyped, asked))
		}
		c.loops = append(c.loops, l)
	}
	return c, nil
}

// extra is the one watch of a resource of extra objects, made when the first kind names it.
func (c *Controller) extra(r schema.Resource, untyped dynamic.Interface, d discovery.DiscoveryInterface) *extraWatch {
	for _, e := range c.extras {
		if e.resource == r {
			return e
		}
	}
	e := newExtraWatch(c, r, untyped, d)
	c.extras = append(c.extras, e)
	return e
}

// Run serves until ctx ends, then stops in order: no new passes, running passes finish, told events go out,
// the lease is released. It returns nil after a graceful stop.
func (c *Controller) Run(ctx context.Context) error {
	var running sync.WaitGroup
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer running.Wait()
	defer stopWatching()

	c.children.start(watching, &running)
	for _, l := range c.loops {
		running.Go(func() { l.serve(watching) })
	}
	for _, e := range c.extras {
		running.Go(func() { e.serve(watching) })
	}
	err := c.lead(ctx, func(leading, writing context.Context) error {
		if !cache.WaitForCacheSync(leading.Done(), c.children.synced) {
			return nil // stopped before it began
		}
		c.work(leading, writing)
		return nil
	})
	for _, l := range c.loops {
		l.queue.ShutDown()
	}
	c.emitter.queue.ShutDown()
	c.log.Info("stopped", zap.Error(err))
	return err
}

// work runs the workers of every kind until leading ends, and returns when the last pass and the last event
// are done, or when writing has ended too.
func (c *Controller) work(leading, writing context.Context) {
	emitting, stopEmitting := context.WithCancel(writing)
	defer stopEmitting()
	var events sync.WaitGroup
	events.Go(func() { c.emitter.run(emitting) })

	finishing, stopFinishing := context.WithCancel(writing)
	defer stopFinishing()
	close(c.elected)
	var workers sync.WaitGroup
	for _, l := range c.loops {
		l.enqueueAll()
		for range max(c.options.Workers, 1) {
			workers.Go(func() { l.work(leading, finishing) })
		}
	}
	<-leading.Done()
	c.log.Info("stopping: finishing the passes that run")
	for _, l := range c.loops {
		l.queue.ShutDown()
	}
	enough := time.AfterFunc(c.grace, stopFinishing)
	defer enough.Stop()
	workers.Wait()
	c.emitter.drain(writing, 5*time.Second)
	stopEmitting()
	events.Wait()
}

// leads says whether this process may write. A standby queues no keys: they would pile up, those of jobs long gone
// among them.
func (c *Controller) leads() bool {
	select {
	case <-c.elected:
		return true
	default:
		return false
	}
}

// wake queues the job that owns a child. Children of kinds that are not served wake nobody.
func (c *Controller) wake(owner ownerKey) {
	if !c.leads() {
		return
	}
	for _, l := range c.loops {
		if l.kind.Name == owner.kind && l.kind.APIVersion() == owner.apiVersion {
			l.queue.Add(owner.key)
		}
	}
}
