package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"stoic/controller/plan"
	"stoic/schema"
)

// emitter tells events to their authors, at a bounded rate and without losing any. client-go's recorders drop
// events under load, count different sentences as one, or open a connection for each.
//
//   - An event has a name made from what it says and of whom. To tell it twice is to create one object twice;
//     the API server answers that it exists, and that is success. So plans may ask for it again and again, also
//     after a crash.
//   - What waits is kept, not dropped, for about an hour and up to a limit that memory sets; the backlog is a gauge.
//   - It has a client and a rate of its own: events never delay a pod.
type emitter struct {
	client   kubernetes.Interface
	identity string
	log      *zap.Logger
	metrics  *metrics
	now      func() time.Time
	queue    workqueue.TypedDelayingInterface[string] // of names of waiting events
	failures workqueue.TypedRateLimiter[string]

	mu      sync.Mutex
	waiting map[string]*corev1.Event
	// told and toldBefore remember the names of two periods, so that the API server is not asked again and
	// again for what it has just been told. They bound themselves: a period's names are dropped as a whole.
	told, toldBefore map[string]struct{}
	turned           time.Time
}

const (
	reporter      = "training-operator" // what kubectl shows as From
	eventsPerSec  = 50
	eventsAtOnce  = 100
	eventWorkers  = 8
	eventTries    = 70     // with the back-off, about an hour: the API server may be away for long
	refusedTries  = 10     // of an event that the API server forbids: it may lack a permission, or a quota
	mostWaiting   = 50_000 // each takes about 2 KB
	memoryPeriod  = 10 * time.Minute
	messageLimit  = 1024
	eventNameRoom = 200 // of the job's name in an event's name
	identityRoom  = 128 // of the reporter's name: the API server refuses an event with a longer one
)

func newEmitter(config *rest.Config, o Options, m *metrics) (*emitter, error) {
	c := rest.CopyConfig(config)
	c.QPS, c.Burst, c.RateLimiter = eventsPerSec, eventsAtOnce, nil
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		return nil, fmt.Errorf("make the client for events: %w", err)
	}
	return &emitter{
		client: client, identity: o.Identity[:min(len(o.Identity), identityRoom)], log: o.Log, metrics: m, now: o.Now,
		queue:    newQueue("events", m.queues),
		failures: workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, time.Minute),
		waiting:  map[string]*corev1.Event{}, told: map[string]struct{}{}, turned: o.Now(),
	}, nil
}

// tell queues events about an object. It never blocks and never fails.
func (e *emitter) tell(head *schema.Head, events []plan.Event) {
	if len(events) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.now(); now.Sub(e.turned) > memoryPeriod {
		e.toldBefore, e.told, e.turned = e.told, map[string]struct{}{}, now
	}
	for _, event := range events {
		name := eventName(head, event)
		if e.knows(name) {
			continue
		}
		if len(e.waiting) >= mostWaiting {
			e.metrics.events.WithLabelValues("refused").Inc() // and not remembered: the next pass may tell it
			continue
		}
		e.told[name] = struct{}{}
		key := head.Meta.Namespace + "/" + name
		e.waiting[key] = e.object(head, event, name)
		e.queue.Add(key)
	}
	e.metrics.eventBacklog.Set(float64(len(e.waiting)))
}

func (e *emitter) knows(name string) bool {
	if _, ok := e.told[name]; ok {
		return true
	}
	_, ok := e.toldBefore[name]
	return ok
}

// eventName is the identity of an event: the object, the sentence and the occasion.
func eventName(head *schema.Head, event plan.Event) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{string(head.Meta.UID), event.Type, event.Reason,
		event.FieldPath, event.Message, event.Occasion}, "\x00")))
	job := head.Meta.Name
	if len(job) > eventNameRoom {
		job = strings.TrimRight(job[:eventNameRoom], "-.")
	}
	return job + "." + hex.EncodeToString(sum[:8])
}

func (e *emitter) object(head *schema.Head, event plan.Event, name string) *corev1.Event {
	now := e.now()
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: head.Meta.Namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: head.Kind.APIVersion(), Kind: head.Kind.Name,
			Namespace: head.Meta.Namespace, Name: head.Meta.Name, UID: head.Meta.UID, FieldPath: event.FieldPath},
		Type: event.Type, Reason: event.Reason, Message: schema.Clean(event.Message, messageLimit),
		Source:              corev1.EventSource{Component: reporter},
		ReportingController: reporter, ReportingInstance: e.identity, Action: "Reconcile",
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), EventTime: metav1.NewMicroTime(now),
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
	event := e.waiting[key]
	e.mu.Unlock()
	if event == nil {
		return
	}
	_, err := e.client.CoreV1().Events(event.Namespace).Create(ctx, event, metav1.CreateOptions{})
	switch {
	case err == nil:
		e.metrics.events.WithLabelValues("sent").Inc()
	case apierrors.IsAlreadyExists(err):
		e.metrics.events.WithLabelValues("known").Inc()
	case untellable(err, e.failures.NumRequeues(key)):
		e.metrics.events.WithLabelValues("refused").Inc()
		e.log.Info("an event could not be told", zap.String("event", key), zap.String("reason", event.Reason), zap.Error(err))
	default:
		e.queue.AddAfter(key, e.failures.When(key))
		return
	}
	e.failures.Forget(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, key)
	e.metrics.eventBacklog.Set(float64(len(e.waiting)))
}

// untellable: it will not work, or has been tried for long enough.
func untellable(err error, tries int) bool {
	return isNamespaceGoing(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsForbidden(err) && tries >= refusedTries || tries >= eventTries
}

// drain waits until all that waits has been told, at most for the given time or until ctx ends.
func (e *emitter) drain(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for e.backlog() > 0 && ctx.Err() == nil {
		pause(ctx, 20*time.Millisecond)
	}
	if left := e.backlog(); left > 0 {
		e.log.Warn("stopping with events untold; the next start tells those that still matter", zap.Int("events", left))
	}
}

func (e *emitter) backlog() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting)
}
