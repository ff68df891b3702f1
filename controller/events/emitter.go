package events

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/queue"
	"stoic/controller/serve"
	"stoic/internal/lean"
	"stoic/schema"
)

// Emitter sends events about objects, at a bounded rate and without losing any. client-go's recorders drop events under load, count
// different messages as one, or open a connection for each.
//
//   - The name of an event is made from its text and its object. To emit it twice is to create one object twice: the
//     API server answers that it exists, and that is success. So plans may emit it repeatedly, also after a crash.
//   - An event that waits is kept, not dropped, up to a limit that memory sets; then the reconcile is requeued for it
//     (backlog).
//   - An event is sent within sendFor of what it reports, or not at all. Had it been sent immediately, API servers would
//     be about to drop it by now. If another process has sent it, a late one might be a duplicate.
//   - The emitter has a client and a rate of its own: events never delay a pod.
//
// docs/decisions/0005 has the calculation.
type Emitter struct {
	client   rest.Interface
	reporter string // what kubectl shows as From
	identity string
	log      *zap.Logger
	metrics  *serve.Metrics
	now      func() time.Time
	count    func(*schema.Head, schema.Count)
	queue    workqueue.TypedDelayingInterface[string] // of keys of the backlog
	failures workqueue.TypedRateLimiter[string]

	mu sync.Mutex // of all below
	*backlog
	drops drops
}

const (
	eventWorkers = 8
	refusedTries = 10 // of an event that the API server refuses: a permission or quota may be missing, or a webhook fails
	// sendFor is less than the hour for which API servers keep events, by as much as clocks may disagree. It is longer than plans repeat
	// an event: the last repetition still has ten minutes.
	sendFor = 55 * time.Minute
	// RequeueForEvents is when a reconcile is requeued for events that found no room. At the usual rate there is room for three thousand
	// more by then.
	RequeueForEvents = time.Minute
	messageLimit     = 1024
	eventNameRoom    = 200 // of the object's name in an event's name
	identityRoom     = 128 // of the reporter's name: the API server refuses an event with a longer one
)

// Options are those of an Emitter; all but Count are required.
type Options struct {
	Reporter string  // the operator's name, which kubectl shows as From
	Identity string  // of this process: the pod's name
	QPS      float32 // events per second; negative for no limit
	Log      *zap.Logger
	Metrics  *serve.Metrics
	Now      func() time.Time
	// Count is called, from any goroutine, when an event that is to be counted was sent for the first time; nil: nothing is
	// counted.
	Count func(*schema.Head, schema.Count)
}

// NewEmitter makes an Emitter and connects to nothing.
func NewEmitter(config *rest.Config, o Options) (*Emitter, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst, c.RateLimiter = o.QPS, max(1, int(2*o.QPS)), nil
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make the client for events: %w", err)
	}
	return &Emitter{
		client: client.CoreV1().RESTClient(), reporter: o.Reporter, identity: o.Identity[:min(len(o.Identity), identityRoom)],
		log: o.Log, metrics: o.Metrics, now: o.Now, count: o.Count,
		queue:    queue.New(queue.Options{Name: "events", Metrics: o.Metrics.Queues}),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, time.Minute),
		backlog:  newBacklog(o.Now()),
	}, nil
}

// Emit queues events about an object. It never blocks and never fails. It returns false if there is no room now for an event that the
// next reconcile will emit again: the caller must then requeue.
func (e *Emitter) Emit(head *schema.Head, events []schema.Event) (all bool) {
	if len(events) == 0 {
		return true
	}
	about := &subject{head.Resource, head.Meta.Namespace, head.Meta.Name, head.Meta.UID}
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rotate(now)
	all = true
	for _, event := range events {
		key, answer := e.add(about, event, now)
		switch answer {
		case queued:
			e.queue.AddAfter(key, event.Settle)
		case postponed:
			all = false
			e.metrics.Events.WithLabelValues("postponed").Inc()
		case dropped:
			e.metrics.Events.WithLabelValues("dropped").Inc()
			e.drops.note(e.log, now)
		}
	}
	e.metrics.EventBacklog.Set(float64(len(e.waiting)))
	return all
}

// drops logs dropped events, once a minute at most.
type drops struct {
	since  int // the last line
	logged time.Time
}

func (d *drops) note(log *zap.Logger, now time.Time) {
	d.since++
	if now.Sub(d.logged) < time.Minute {
		return
	}
	log.Warn("events are dropped: too many wait, and no reconcile emits these again", zap.Int("dropped", d.since))
	d.since, d.logged = 0, now
}

// head returns as much of the object as is known here.
func (s *subject) head() *schema.Head {
	head := &schema.Head{Resource: s.resource}
	head.Meta.Namespace, head.Meta.Name, head.Meta.UID = s.namespace, s.name, s.uid
	return head
}

// object returns what is sent to the API server. Its times are those of what it reports: the same event, emitted by the next process, is
// the same object.
func (e *Emitter) object(u *pendingEvent) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: u.name, Namespace: u.about.space()},
		InvolvedObject: corev1.ObjectReference{APIVersion: u.about.resource.APIVersion(), Kind: u.about.resource.Kind,
			Namespace: u.about.namespace, Name: u.about.name, UID: u.about.uid, FieldPath: u.FieldPath},
		Type: u.Type, Reason: u.Reason, Message: schema.Clean(u.Message, messageLimit),
		Source:              corev1.EventSource{Component: e.reporter},
		ReportingController: e.reporter, ReportingInstance: e.identity, Action: "Reconcile",
		FirstTimestamp: metav1.NewTime(u.Since), LastTimestamp: metav1.NewTime(u.Since), EventTime: metav1.NewMicroTime(u.Since),
		Count: 1,
	}
}

// Run sends what waits until ctx ends.
func (e *Emitter) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range eventWorkers {
		workers.Go(func() { e.work(ctx) })
	}
	<-ctx.Done()
	e.queue.ShutDown()
	workers.Wait()
}

func (e *Emitter) work(ctx context.Context) {
	for {
		key, stopped := e.queue.Get()
		if stopped {
			return
		}
		e.send(ctx, key)
		e.queue.Done(key)
	}
}

func (e *Emitter) send(ctx context.Context, key string) {
	e.mu.Lock()
	u := e.waiting[key]
	e.mu.Unlock()
	if u == nil {
		return
	}
	tries := e.failures.NumRequeues(key)
	ctx, failed := serve.WithFailures(ctx)
	result, err := e.post(ctx, u, tries)
	switch result {
	case "":
		e.queue.AddAfter(key, e.failures.When(key))
		return
	case "refused", "late":
		e.log.Info("an event could not be sent", zap.String("event", key), zap.String("reason", u.Reason), zap.Strings("auditIDs", failed.AuditIDs()), zap.Error(err))
	}
	e.metrics.Events.WithLabelValues(result).Inc()
	if u.Count != nil && e.count != nil && (result != "known" || tries > 0) { // an answer that was lost may be that of our own request
		e.count(u.about.head(), *u.Count)
	}
	e.failures.Forget(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove(key)
	e.metrics.EventBacklog.Set(float64(len(e.waiting)))
}

// post sends an event and returns the result as the metric names it; "" means that it is to be retried.
func (e *Emitter) post(ctx context.Context, u *pendingEvent, tries int) (result string, err error) {
	if age := e.now().Sub(u.Since); age > sendFor {
		return "late", fmt.Errorf("it reports what happened %s ago", age.Round(time.Second))
	}
	// Only whether it worked is read from the answer, so the smallest answer is requested.
	err = e.client.Post().Namespace(u.about.space()).Resource("events").SetHeader("Accept", lean.Accept).Body(e.object(u)).Do(ctx).Error()
	switch {
	case err == nil:
		return "sent", nil
	case apierrors.IsAlreadyExists(err):
		return "known", nil
	case isFinal(err, tries):
		return "refused", err
	}
	return "", err
}

// isFinal reports whether the request will not succeed, or has been refused often enough. A request that only fails is retried until the
// event is too old.
func isFinal(err error, tries int) bool {
	return lean.NamespaceGone(err) ||
		(apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && tries >= refusedTries
}

// Drain waits until all events are sent, at most for the given time or until ctx ends.
func (e *Emitter) Drain(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return e.left() == 0, nil })
	if left := e.left(); left > 0 {
		e.log.Warn("stopping with events not sent; the next start emits those that still matter", zap.Int("events", left))
	}
}

func (e *Emitter) left() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting)
}

// ShutDown ends the queue: what is emitted from then on is not sent.
func (e *Emitter) ShutDown() { e.queue.ShutDown() }
