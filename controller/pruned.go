package controller

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// prunedWrites remember, by UID, a status that the server did not keep as it was written: a foreign schema
// prunes some of it. The same status is not written again while what is stored is what the server made of it, or
// every pass would write for ever. Once the stored status says something else, by our own hand or another, it is.
type prunedWrites struct {
	mu    sync.Mutex
	wrote map[types.UID]pruning
}

type pruning struct {
	wrote, kept []byte
	version     string // of the object when it was so
}

func newPrunedWrites() *prunedWrites { return &prunedWrites{wrote: map[types.UID]pruning{}} }

// knows says that to write s over the status that head has would change nothing.
func (p *prunedWrites) knows(head *schema.Head, s *schema.Status) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, ok := p.wrote[head.Meta.UID]
	return ok && bytes.Equal(was.wrote, text(s)) &&
		(was.version == head.Meta.ResourceVersion || bytes.Equal(was.kept, text(&head.Status)))
}

// note what was written and what the server kept of it, and says whether that differs.
func (p *prunedWrites) note(uid types.UID, wrote, kept *schema.Status, version string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sameText(kept, wrote) {
		delete(p.wrote, uid)
		return false
	}
	n := pruning{wrote: text(wrote), version: version}
	if kept != nil {
		n.kept = text(kept)
	}
	p.wrote[uid] = n
	return true
}

func (p *prunedWrites) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.wrote, uid)
}

func (p *prunedWrites) forgetAll(gone func(types.UID) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.wrote, func(uid types.UID, _ pruning) bool { return gone(uid) })
}

func sameText(a, b *schema.Status) bool {
	return a != nil && b != nil && bytes.Equal(text(a), text(b))
}

// text is a status without what differs between two writings of the same facts: when it was (but not whether there
// is such a time), and the generation, which has a rule of its own.
func text(s *schema.Status) []byte {
	c := *s
	c.ObservedGeneration = 0
	for _, t := range []**metav1.Time{&c.StartTime, &c.CompletionTime, &c.LastReconcileTime} {
		if *t != nil {
			*t = &metav1.Time{}
		}
	}
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
