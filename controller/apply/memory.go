package apply

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what an Applier remembers of objects, by their UID, until they are gone. Nothing in it is needed: after a restart the same
// requests are sent again, and their answers say the same. Hold the lock while you use entries.
type memory[T any] struct {
	sync.Mutex
	entries map[types.UID]T
}

func newMemory[T any]() memory[T] { return memory[T]{entries: map[types.UID]T{}} }

// forgetter is a memory of any kind.
type forgetter interface {
	forget(uid types.UID)
	forgetAll(gone func(types.UID) bool)
}

// forget drops what is remembered of an object.
func (m *memory[T]) forget(uid types.UID) {
	m.Lock()
	defer m.Unlock()
	delete(m.entries, uid)
}

// forgetAll drops what is remembered of the objects that gone selects.
func (m *memory[T]) forgetAll(gone func(types.UID) bool) {
	m.Lock()
	defer m.Unlock()
	maps.DeleteFunc(m.entries, func(uid types.UID, _ T) bool { return gone(uid) })
}
