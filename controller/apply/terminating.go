package apply

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"stoic/internal/lean"
)

// terminating remembers, by the UID of an object, that a creation for it was refused because its namespace terminates. Each dependent
// that the namespace loses queues the object, and each reconcile would create all missing ones again. A namespace never leaves
// Terminating, and a new one holds other objects, so the answer holds for as long as the object exists. Creation is nevertheless tried
// again after terminatingRetry, as a proxy may have answered wrongly.
type terminating struct {
	memory[time.Time] // when creation is tried again
	now               func() time.Time
}

// terminatingRetry is longer than the deletion of a namespace usually takes.
const terminatingRetry = LastRefused

func newTerminating(now func() time.Time) *terminating {
	return &terminating{newMemory[time.Time](), now}
}

// note records the outcome of the creations for an object.
func (n *terminating) note(uid types.UID, errs []error) {
	n.Lock()
	defer n.Unlock()
	delete(n.entries, uid)
	for _, err := range errs {
		if lean.NamespaceGone(err) {
			n.entries[uid] = n.now().Add(terminatingRetry)
		}
	}
}

// wait returns for how long nothing is created for an object; 0 if creations are allowed.
func (n *terminating) wait(uid types.UID) time.Duration {
	n.Lock()
	defer n.Unlock()
	until, known := n.entries[uid]
	if !known {
		return 0
	}
	return max(until.Sub(n.now()), 0)
}
