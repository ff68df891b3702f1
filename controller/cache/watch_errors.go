package cache

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// reportingWatch passes a watch on and reports errors in it. A reflector does not: it lists again, later each time that
// this happens within two minutes, and up to a minute late.
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
