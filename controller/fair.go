package controller

import (
	"strings"

	"k8s.io/client-go/util/workqueue"
)

// fair is the order in which a queue hands out its keys: the namespaces take turns, and within one it is first come,
// first served. Ten thousand jobs of one tenant delay the one job of another by one pass, not by ten thousand.
type fair struct {
	lanes map[string][]string // keys that wait, by namespace
	turns []string            // namespaces that have a lane, the next one first
	count int
}

var _ workqueue.Queue[string] = (*fair)(nil)

func newFair() *fair { return &fair{lanes: map[string][]string{}} }

// newQueue makes a queue of keys that begin with "namespace/".
func newQueue(name string, metrics workqueue.MetricsProvider) workqueue.TypedDelayingInterface[string] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: name, MetricsProvider: metrics,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
			Name: name, MetricsProvider: metrics, Queue: newFair()}),
	})
}

// Touch is told of a key that is queued again while it waits. It keeps its place.
func (*fair) Touch(string) {}

func (f *fair) Push(key string) {
	namespace, _, _ := strings.Cut(key, "/")
	if len(f.lanes[namespace]) == 0 {
		f.turns = append(f.turns, namespace)
	}
	f.lanes[namespace] = append(f.lanes[namespace], key)
	f.count++
}

func (f *fair) Len() int { return f.count }

// Pop is called only while there is something to hand out.
func (f *fair) Pop() string {
	namespace := f.turns[0]
	f.turns = f.turns[1:]
	lane := f.lanes[namespace]
	key := lane[0]
	if lane = lane[1:]; len(lane) == 0 {
		delete(f.lanes, namespace)
	} else {
		f.lanes[namespace] = lane
		f.turns = append(f.turns, namespace)
	}
	f.count--
	return key
}
