package controller

import (
	"strings"

	"k8s.io/client-go/util/workqueue"
)

// fair is the order in which a queue hands out its keys. A key is a path: what lies beneath one folder takes turns,
// and keys in the same folder come first come, first served. Of jobs (namespace/name) the namespaces take turns: ten
// thousand jobs of one tenant delay the one job of another by one pass, not by ten thousand. For events see lane.
//
// The folder ahead has several turns in a row: what has begun is brought on before more is begun, and what waits to begin
// is still not starved.
type fair struct {
	keys  []string         // that end here, in order
	lanes map[string]*fair // folders that hold something, by the next step of the path
	turns []string         // steps into these folders, or here, the next one first
	row   int              // turns that the first of turns has had in a row
	count int
	// place is the path of a key. It is asked under the queue's lock.
	place func(key string) string
}

var _ workqueue.Queue[string] = (*fair)(nil)

const (
	here  = "/" // is no step of a path
	ahead = "+" // is no name of a namespace
	// aheadTurns is how many turns the folder ahead has where another has one. A job of five pods has some five passes after
	// its first.
	aheadTurns = 8
)

func newFair(place func(key string) string) *fair { return &fair{place: place} }

// asIs: a key is its path.
func asIs(key string) string { return key }

// newQueue makes a queue of keys that have places.
func newQueue(name string, metrics workqueue.MetricsProvider, place func(key string) string) workqueue.TypedDelayingInterface[string] {
	return workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
		Name: name, MetricsProvider: metrics,
		Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
			Name: name, MetricsProvider: metrics, Queue: newFair(place)}),
	})
}

// Touch is told of a key that is queued again while it waits. It keeps its place.
func (*fair) Touch(string) {}

func (f *fair) Push(key string) { f.push(key, f.place(key)) }

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
		lane = newFair(f.place)
		f.lanes[step] = lane
		f.turns = append(f.turns, step)
	}
	lane.push(key, rest)
}

func (f *fair) Len() int { return f.count }

// Pop is called only while there is something to hand out.
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
	if f.row++; more && step == ahead && f.row < aheadTurns {
		return key
	}
	f.turns, f.row = f.turns[1:], 0
	if more {
		f.turns = append(f.turns, step)
	}
	return key
}
