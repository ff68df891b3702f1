package queue

import "strings"

// fair is an order of keys. A key is a path: keys below one folder take turns with those below the next, and keys in the same folder are
// first in, first out. The keys of objects (namespace/name) let namespaces take turns: ten thousand objects of one tenant delay the one
// object of another by one reconcile, not by ten thousand. For events see package events.
type fair struct {
	keys  []string         // that end here, in order
	lanes map[string]*fair // folders that hold something, by the next step of the path
	turns []string         // steps into these folders, or here, the next one first
	count int
}

const here = "/" // is no step of a path

func newFair() *fair { return &fair{} }

// Push adds a key.
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

// Len returns how many keys wait.
func (f *fair) Len() int { return f.count }

// Pop removes the next key and returns it. It is called only while a key waits.
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
	f.turns = f.turns[1:]
	if more {
		f.turns = append(f.turns, step)
	}
	return key
}
