package controller

import (
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// listening passes a watch on and tells of errors in it. A reflector does not: it lists again, later each time that this
// happens within two minutes, and up to a minute late.
type listening struct {
	from   watch.Interface
	events chan watch.Event
	done   chan struct{}
	stop   func()
}

func listen(from watch.Interface, tell func(error)) watch.Interface {
	l := &listening{from: from, events: make(chan watch.Event), done: make(chan struct{})}
	l.stop = sync.OnceFunc(func() { close(l.done); from.Stop() })
	go l.pass(tell)
	return l
}

func (l *listening) pass(tell func(error)) {
	defer close(l.events)
	for event := range l.from.ResultChan() {
		if event.Type == watch.Error {
			tell(apierrors.FromObject(event.Object))
		}
		select {
		case l.events <- event:
		case <-l.done:
			return
		}
	}
}

func (l *listening) Stop() { l.stop() }

func (l *listening) ResultChan() <-chan watch.Event { return l.events }
