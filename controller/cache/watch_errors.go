package cache

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// reportingWatch passes a watch on and reports errors in it. A reflector does not report them: it lists again, with a delay that grows to
// a minute if this repeats within two minutes.
type reportingWatch struct {
	from   watch.Interface
	events chan watch.Event
	done   chan struct{}
	stop   func()
}

func reportErrors(from watch.Interface, report func(error)) watch.Interface {
	l := &reportingWatch{from: from, events: make(chan watch.Event), done: make(chan struct{})}
	l.stop = sync.OnceFunc(func() { close(l.done); from.Stop() })
	go l.pass(report)
	return l
}

func (l *reportingWatch) pass(report func(error)) {
	defer close(l.events)
	for event := range l.from.ResultChan() {
		if event.Type == watch.Error {
			report(apierrors.FromObject(event.Object))
		}
		select {
		case l.events <- event:
		case <-l.done:
			return
		}
	}
}

func (l *reportingWatch) Stop() { l.stop() }

func (l *reportingWatch) ResultChan() <-chan watch.Event { return l.events }

// reminderInterval is how often a watch that stays interrupted is logged. The runbook of watch errors looks at half an hour.
const reminderInterval = 10 * time.Minute

// interruption is what was logged about one watch. Several goroutines use it.
type interruption struct {
	mu     sync.Mutex
	reason metav1.StatusReason
	logged time.Time // zero if the watch is not interrupted
}

// isLogged reports whether to log a failure: the first one, one for another reason, and one that comes reminderInterval after the last
// that was logged. A watch is retried every few seconds; nil means that it has succeeded.
func (i *interruption) isLogged(err error, now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.logged = time.Time{}
		return false
	}
	reason := apierrors.ReasonForError(err)
	if !i.logged.IsZero() && reason == i.reason && now.Sub(i.logged) < reminderInterval {
		return false
	}
	i.reason, i.logged = reason, now
	return true
}
