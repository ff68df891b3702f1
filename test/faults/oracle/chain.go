package oracle

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
)

// longestChain of owners: a pod belongs to a batch/v1 Job, and this one to the subject.
const longestChain = 4

// Controller is where the chain of an object's owners ends, as it was at that time: the subject, if the object is a pod of a
// batch/v1 Job that the subject controls; "" if nobody controls it.
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

// stateOf the object of that UID at a time: the last version that was told until then, else the first of all; nil if the run
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
