package controller

import (
	"bytes"
	"encoding/json"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// prunedWrites remember, by UID, a status that the server did not keep as it was written: a foreign schema
// prunes some of it. The same status is not written again, or every pass would write for ever.
type prunedWrites struct {
	mu    sync.Mutex
	wrote map[types.UID][]byte
}

func newPrunedWrites() *prunedWrites { return &prunedWrites{wrote: map[types.UID][]byte{}} }

func (p *prunedWrites) knows(uid types.UID, s *schema.Status) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, ok := p.wrote[uid]
	return ok && bytes.Equal(was, text(s))
}

func (p *prunedWrites) note(uid types.UID, s *schema.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrote[uid] = text(s)
}

func (p *prunedWrites) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.wrote, uid)
}

func sameText(a, b *schema.Status) bool {
	return a != nil && b != nil && bytes.Equal(text(a), text(b))
}

// text is a status without what differs between two writings of the same facts: the times, and the generation,
// which has a rule of its own.
func text(s *schema.Status) []byte {
	c := *s
	c.ObservedGeneration, c.StartTime, c.CompletionTime, c.LastReconcileTime = 0, nil, nil, nil
	c.Conditions = make([]schema.Condition, len(s.Conditions))
	for i, condition := range s.Conditions {
		condition.LastUpdateTime, condition.LastTransitionTime = metav1.Time{}, metav1.Time{}
		c.Conditions[i] = condition
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil // strings and numbers only: it cannot fail
	}
	return b
}
