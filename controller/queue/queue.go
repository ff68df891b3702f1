package queue

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/util/workqueue"
)

// Options are those of a queue.
type Options struct {
	// Name and Metrics are those of client-go's queues.
	Name    string
	Metrics workqueue.MetricsProvider
	// Begun reports whether the object of a key has begun: the key then goes before others. It is called under the queue's lock whenever
	// the key is added, and may answer differently each time. Nil: none goes before others.
	Begun func(key string) bool
	// Starting is how many keys that have not begun are handed out at the same time, at most; 0: any number.
	Starting int
}

// New makes a fair queue. A key is its own path: see fair.
//
//	           +- begun:     namespaces take turns -+
//	Add(key) --+                                    +- eight turns to one -> Get
//	           +- not begun: namespaces take turns -+  (that one only while fewer than Starting are handed out)
//
// The first reconcile of an object creates all its children, and waits for slots of apply.Limiter; later ones write a status. Workers
// beyond Starting serve objects that have begun, however many others wait.
func New(o Options) workqueue.TypedDelayingInterface[string] {
	order := &order{begun: newFair(), fresh: newFair(), isBegun: o.Begun, starting: o.Starting, out: map[string]bool{}}
	work := newWorkTicker()
	return &bounded{order: order, work: work, TypedDelayingInterface: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: o.Name, MetricsProvider: o.Metrics,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: o.Name, MetricsProvider: o.Metrics, Queue: order, Clock: workClock{work: work}}),
	})}
}

// bounded is a queue that reports to its order when a worker is done with a key.
type bounded struct {
	workqueue.TypedDelayingInterface[string]
	order *order
	work  *workTicker
}

// Get waits for a key.
func (b *bounded) Get() (key string, shutdown bool) {
	key, shutdown = b.TypedDelayingInterface.Get()
	if !shutdown {
		b.work.begin()
	}
	return key, shutdown
}

// Done is called by the worker that got the key, and that then calls Get again. So no other worker has to be woken when one more key may
// be handed out.
func (b *bounded) Done(key string) {
	b.order.done(key)
	b.TypedDelayingInterface.Done(key)
	b.work.end()
}

// Len returns how many keys wait, including those that may not be handed out yet.
func (b *bounded) Len() int { return int(b.order.waiting.Load()) }

// begunTurns is how many keys that have begun are handed out for one that has not. A job of five pods has about five reconciles after its
// first.
const begunTurns = 8

// order is the order in which a queue hands out its keys.
type order struct {
	begun, fresh *fair // used under the queue's lock
	inARow       int   // keys of begun that were handed out since the last one of fresh
	isBegun      func(key string) bool
	starting     int
	waiting      atomic.Int64

	mu  sync.Mutex
	out map[string]bool // keys that have not begun and are handed out, if they are bounded
}

var _ workqueue.Queue[string] = (*order)(nil)

// Touch is called for a key that is added again while it waits. The key keeps its place.
func (*order) Touch(string) {}

// Push adds a key that does not wait yet.
func (o *order) Push(key string) {
	o.waiting.Add(1)
	if o.isBegun != nil && o.isBegun(key) {
		o.begun.Push(key)
	} else {
		o.fresh.Push(key)
	}
}

// Len returns how many keys can be handed out now. Only the queue calls it, before it calls Pop.
func (o *order) Len() int {
	if o.mayStart() {
		return o.begun.Len() + o.fresh.Len()
	}
	return o.begun.Len()
}

// Pop removes the next key and returns it. It is called only while Len is not 0.
func (o *order) Pop() string {
	o.waiting.Add(-1)
	fresh := o.fresh.Len() > 0 && o.mayStart()
	if o.begun.Len() > 0 && (!fresh || o.inARow < begunTurns) {
		o.inARow++
		return o.begun.Pop()
	}
	o.inARow = 0
	key := o.fresh.Pop()
	if o.starting > 0 {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.out[key] = true
	}
	return key
}

func (o *order) mayStart() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.starting <= 0 || len(o.out) < o.starting
}

func (o *order) done(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.out, key)
}
