package oracle

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
)

// longestChain bounds the chain of owners: a pod belongs to a batch/v1 Job, which belongs to the subject.
const longestChain = 4

// Controller returns the end of the chain of an object's controller owners, as it was at that time: the subject, if the object is
// a pod of a batch/v1 Job that the subject controls; "" if it has no controller owner.
func (c *Case) Controller(u *unstructured.Unstructured, at time.Time) types.UID {
	owner := c.rules.Owner(u)
	for range longestChain {
		between := c.stateOf(owner, at)
		if owner == "" || c.Objects[owner] != nil || between == nil {
			break
		}
		next := c.rules.Owner(between)
		if next == "" {
			break
		}
		owner = next
	}
	return owner
}

// stateOf returns the object of that UID at a time: the last version reported by then, or else the first version; nil if the run
// has no such object.
func (c *Case) stateOf(uid types.UID, at time.Time) *unstructured.Unstructured {
	var first, last *history.Version
	for i := range c.Versions {
		v := &c.Versions[i]
		if uid == "" || v.Object.GetUID() != uid {
			continue
		}
		if first == nil {
			first = v
		}
		if !v.At.After(at) {
			last = v
		}
	}
	switch {
	case last != nil:
		return last.Object
	case first != nil:
		return first.Object
	}
	return nil
}
