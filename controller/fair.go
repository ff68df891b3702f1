package controller

import (
	"strings"

	"k8s.io/client-go/util/workqueue"
)

// fair is the order in which a queue hands out its keys. A key is a path: what lies beneath one folder takes turns,
// and keys in the same folder come first come, first served. Of jobs (namespace/name) the namespaces take turns: ten
// thousand jobs of one tenant delay the one job of another by one pass, not by ten thousand. For events see lane.
type fair struct {
	keys  []string         // that end here, in order
	lanes map[string]*fair // folders that hold something, by the next step of the path
	turns []string         // steps into these folders, or here, the next one first
	count int
}

var _ workqueue.Queue[string] = (*fair)(nil)

// here is no step of a path.
const here = "/"

func newFair() *fair { return &fair{} }

// newQueue makes a queue of keys that are paths.
func newQueue(name string, metrics workqueue.MetricsProvider) workqueue.TypedDelayingInterface[string] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: name, MetricsProvider: metrics,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
			Name: name, MetricsProvider: metrics, Queue: newFair()}),
	})
}

// Touch is told of a key that is queued again while it waits. It keeps its place.
func (*fair) Touch(string) {}

func (f *fair) Push(key string) { f.push(key, key) }

func (f *fair) push(key, path string) {
	f.count++
	step, rest, deeper := strings.Cut(path, "/")
	if !deeper {
		if len(f.keys) == 0 {
			f.turns = append(f.turns, here)
		}
		f.keys = append(f.keys, key)
		return
	}
	lane := f.lanes[step]
	if lane == nil {
		if f.lanes == nil {
			f.lanes = map[string]*fair{}
		}
		lane = newFair()
		f.lanes[step] = lane
		f.turns = append(f.turns, step)
	}
	lane.push(key, rest)
}

func (f *fair) Len() int { return f.count }

// Pop is called only while there is something to hand out.
func (f *fair) Pop() string {
	f.count--
	step := f.turns[0]
	f.turns = f.turns[1:]
	if step == here {
		key := f.keys[0]
		if f.keys = f.keys[1:]; len(f.keys) > 0 {
			f.turns = append(f.turns, here)
		}
		return key
	}
	lane := f.lanes[step]
	key := lane.Pop()
	if lane.count == 0 {
		delete(f.lanes, step)
	} else {
		f.turns = append(f.turns, step)
	}
	return key
}
