package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/lean"
	"stoic/controller/plan"
	"stoic/schema"
)

// emitter tells events to their authors, at a bounded rate and without losing any. client-go's recorders drop
// events under load, count different sentences as one, or open a connection for each.
//
//   - An event has a name made from what it says and of whom. To tell it twice is to create one object twice;
//     the API server answers that it exists, and that is success. So plans may ask for it again and again, also
//     after a crash.
//   - What waits is kept, not dropped, up to a limit that memory sets; then the pass comes back for it (backlog).
//   - An event is sent within sendFor of what it tells of, or not at all: it would be about to be forgotten by now
//     had it been told at once, and might be a second one if another process did tell it at once.
//   - It has a client and a rate of its own: events never delay a pod.
//
// docs/decisions/0005 has the sums.
type emitter struct {
	client   rest.Interface
	identity string
	log      *zap.Logger
	metrics  *metrics
	now      func() time.Time
	queue    workqueue.TypedDelayingInterface[string] // of keys of the backlog
	failures workqueue.TypedRateLimiter[string]

	mu sync.Mutex
	*backlog
}

const (
	reporter     = "training-operator" // what kubectl shows as From
	eventWorkers = 8
	refusedTries = 10 // of an event that the API server refuses: it may lack a permission, or a quota, or a webhook errs
	// sendFor is less than the hour for which API servers keep events, by as much as clocks may disagree, and more
	// than plans ask for one: what is asked for last has still ten minutes.
	sendFor = 55 * time.Minute
	// untoldAgain is when a pass comes back for the events that found no room. At the usual rate there is room for
	// three thousand more by then.
	untoldAgain   = time.Minute
	messageLimit  = 1024
	eventNameRoom = 200 // of the job's name in an event's name
	identityRoom  = 128 // of the reporter's name: the API server refuses an event with a longer one
)

func newEmitter(config *rest.Config, o Options, m *metrics) (*emitter, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst, c.RateLimiter = o.EventQPS, max(1, int(2*o.EventQPS)), nil
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make the client for events: %w", err)
	}
	return &emitter{
		client: client.CoreV1().RESTClient(), identity: o.Identity[:min(len(o.Identity), identityRoom)], log: o.Log, metrics: m, now: o.Now,
		queue:    newQueue("events", m.queues, asIs),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, time.Minute),
		backlog:  newBacklog(o.Now()),
	}, nil
}

// tell queues events about an object. It never blocks and never fails; it answers false if there is no room now for an
// event that the next pass will ask for again, so that there must be one.
func (e *emitter) tell(head *schema.Head, events []plan.Event) (all bool) {
	if len(events) == 0 {
		return true
	}
	about := &subject{head.Kind, head.Meta.Namespace, head.Meta.Name, head.Meta.UID}
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turn(now)
	all = true
	for _, event := range events {
		key, answer := e.add(about, event, now)
		switch answer {
		case queued:
			e.queue.Add(key)
		case comeBack:
			all = false
			e.metrics.events.WithLabelValues("postponed").Inc()
		case refused:
			e.metrics.events.WithLabelValues("refused").Inc()
		}
	}
	e.metrics.eventBacklog.Set(float64(len(e.waiting)))
	return all
}

// object is what the API server is sent. Its times are those of what it tells of: the same event, told by the next
// process, is the same object.
func (e *emitter) object(u *untold) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: u.name, Namespace: u.about.namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: u.about.kind.APIVersion(), Kind: u.about.kind.Name,
			Namespace: u.about.namespace, Name: u.about.name, UID: u.about.uid, FieldPath: u.FieldPath},
		Type: u.Type, Reason: u.Reason, Message: schema.Clean(u.Message, messageLimit),
		Source:              corev1.EventSource{Component: reporter},
		ReportingController: reporter, ReportingInstance: e.identity, Action: "Reconcile",
		FirstTimestamp: metav1.NewTime(u.Since), LastTimestamp: metav1.NewTime(u.Since), EventTime: metav1.NewMicroTime(u.Since),
		Count: 1,
	}
}

// run sends what waits until ctx ends.
func (e *emitter) run(ctx context.Context) {
	var workers sync.WaitGroup
	for range eventWorkers {
		workers.Go(func() { e.work(ctx) })
	}
	<-ctx.Done()
	e.queue.ShutDown()
	workers.Wait()
}

func (e *emitter) work(ctx context.Context) {
	for {
		key, stopped := e.queue.Get()
		if stopped {
			return
		}
		e.send(ctx, key)
		e.queue.Done(key)
	}
}

func (e *emitter) send(ctx context.Context, key string) {
	e.mu.Lock()
	u := e.waiting[key]
	e.mu.Unlock()
	if u == nil {
		return
	}
	result, err := e.post(ctx, u, e.failures.NumRequeues(key))
	switch result {
	case "":
		e.queue.AddAfter(key, e.failures.When(key))
		return
	case "refused", "late":
		e.log.Info("an event could not be told", zap.String("event", key), zap.String("reason", u.Reason), zap.Error(err))
	}
	e.metrics.events.WithLabelValues(result).Inc()
	e.failures.Forget(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.remove(key)
	e.metrics.eventBacklog.Set(float64(len(e.waiting)))
}

// post sends an event and says what became of it, in a word for the metric; "" is to be tried again.
func (e *emitter) post(ctx context.Context, u *untold, tries int) (result string, err error) {
	if age := e.now().Sub(u.Since); age > sendFor {
		return "late", fmt.Errorf("it tells of what happened %s ago", age.Round(time.Second))
	}
	// Nothing is read of the answer but whether it worked, so as little as possible is asked for.
	err = e.client.Post().Namespace(u.about.namespace).Resource("events").SetHeader("Accept", lean.Accept).Body(e.object(u)).Do(ctx).Error()
	switch {
	case err == nil:
		return "sent", nil
	case apierrors.IsAlreadyExists(err):
		return "known", nil
	case untellable(err, tries):
		return "refused", err
	}
	return "", err
}

// untellable: it will not work, or has been tried often enough. What only fails is tried until it is too old.
func untellable(err error, tries int) bool {
	return isNamespaceGoing(err) || apierrors.IsNotFound(err) ||
		(apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && tries >= refusedTries
}

// drain waits until all that waits has been told, at most for the given time or until ctx ends.
func (e *emitter) drain(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for e.left() > 0 && ctx.Err() == nil {
		pause(ctx, 20*time.Millisecond)
	}
	if left := e.left(); left > 0 {
		e.log.Warn("stopping with events untold; the next start tells those that still matter", zap.Int("events", left))
	}
}

func (e *emitter) left() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting)
}
