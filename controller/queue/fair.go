package queue

import (
	"strings"

	"k8s.io/client-go/util/workqueue"
)

// fair is the order in which a queue hands out its keys. The path of a key is its place: keys beneath one folder take
// turns with those beneath the next, and keys in the same folder are first in, first out. Of objects
// (namespace/name) the namespaces take turns: ten thousand objects of one tenant delay the one object of another by
// one reconcile, not by ten thousand. For events see package events.
//
// The folder Priority has several turns in a row: objects that have begun are finished before more are begun, and
// those that wait to begin are still not starved.
type fair struct {
	keys  []string         // that end here, in order
	lanes map[string]*fair // folders that hold something, by the next step of the path
	turns []string         // steps into these folders, or here, the next one first
	row   int              // turns that the first of turns has had in a row
	count int
	// path of a key. It is called under the queue's lock.
	path func(key string) string
}

var _ workqueue.Queue[string] = (*fair)(nil)

const (
	here = "/" // is no step of a path
	// Priority is the folder whose keys go before others. It is no name of a namespace.
	Priority = "+"
	// priorityTurns is how many turns the folder Priority has where another has one. A job of five pods has some five
	// reconciles after its first.
	priorityTurns = 8
)

func newFair(path func(key string) string) *fair { return &fair{path: path} }

// KeyIsPath is for keys that are their own paths.
func KeyIsPath(key string) string { return key }

// New makes a fair queue; path says where a key stands in it, and may answer differently each time.
func New(name string, metrics workqueue.MetricsProvider, path func(key string) string) workqueue.TypedDelayingInterface[string] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: name, MetricsProvider: metrics,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
			Name: name, MetricsProvider: metrics, Queue: newFair(path)}),
	})
}

// Touch is called for a key that is queued again while it waits. It keeps its place.
func (*fair) Touch(string) {}

// Push adds a key that does not wait yet.
func (f *fair) Push(key string) { f.push(key, f.path(key)) }

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
		lane = newFair(f.path)
		f.lanes[step] = lane
		f.turns = append(f.turns, step)
	}
	lane.push(key, rest)
}

// Len is how many keys wait.
func (f *fair) Len() int { return f.count }

// Pop is called only while a key waits.
func (f *fair) Pop() (key string) {
	step, more := f.turns[0], false
	if step == here {
		key, f.keys = f.keys[0], f.keys[1:]
		more = len(f.keys) > 0
	} else {
		lane := f.lanes[step]
		key, more = lane.Pop(), lane.count > 0
		if !more {
			delete(f.lanes, step)
		}
	}
	f.count--
	if f.row++; more && step == Priority && f.row < priorityTurns {
		return key
	}
	f.turns, f.row = f.turns[1:], 0
	if more {
		f.turns = append(f.turns, step)
	}
	return key
}
