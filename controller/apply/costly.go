package apply

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/schema"
)

// costlyError is a write that failed after the API server had worked on it for long.
type costlyError struct {
	error
	took time.Duration
}

func (e *costlyError) Unwrap() error { return e.error }

const (
	costlyFrom = time.Second
	// costlyShare is the share of the time in which the API server may work in vain for one object: one in so many.
	costlyShare    = 10
	longestTimeout = 2 * time.Minute
)

// withCost marks the error of a write that took so long, if that is what made it costly. The time that validation takes grows with the
// square of the errors it finds: a pod of 200 KB with 10,000 invalid names occupies a processor of kube-apiserver 1.37 for half a minute,
// and the answer is 422, or a timeout.
func withCost(err error, took time.Duration) error {
	if took >= costlyFrom && (ClassOf(err) == Refused || isTimeout(err)) {
		return &costlyError{err, took}
	}
	return err
}

// isTimeout reports whether the API server did not complete a request in time, by its own limit or by ours.
func isTimeout(err error) bool {
	return apierrors.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// waitAfter returns how long a costly write is left out after its first failure, and after many; 0 if err is no costly write.
//
//	answer                after the first       after more
//	refused               costlyShare x took    twice as long each time, at most LastRefused
//	no answer in time     took                  twice as long each time, at most longestTimeout
//
// A timeout may also be an outage of the API server, which ends for all objects at the same time: hence its shorter waits.
func waitAfter(err error) (first, most time.Duration) {
	var c *costlyError
	switch {
	case !errors.As(err, &c):
		return 0, 0
	case isTimeout(c):
		return c.took, longestTimeout
	}
	return costlyShare * c.took, LastRefused
}

// costly remembers, by the UID of an object, that a required creation for it was costly. Every event of the object would ask for it again,
// so nothing is created for the object until the wait is over or its spec is edited.
type costly struct {
	memory[costlyCreation]
	now func() time.Time
}

type costlyCreation struct {
	generation int64 // of the object for which it was sent
	tries      int
	until      time.Time
}

func newCostly(now func() time.Time) *costly {
	return &costly{newMemory[costlyCreation](), now}
}

// note records the outcome of the required creations of a reconcile. again: they timed out, and were costly before, too.
func (n *costly) note(head *schema.Head, err error) (again bool) {
	n.Lock()
	defer n.Unlock()
	uid := head.Meta.UID
	first, most := waitAfter(err)
	if first == 0 {
		delete(n.entries, uid)
		return false
	}
	c := n.entries[uid]
	if c.generation != head.Meta.Generation {
		c = costlyCreation{generation: head.Meta.Generation}
	}
	c.until = n.now().Add(min(first<<min(c.tries, 10), most))
	c.tries++
	n.entries[uid] = c
	return c.tries > 1 && isTimeout(err)
}

// of returns what is remembered of an object at this generation: nothing, or the last creations for it were costly.
func (n *costly) of(head *schema.Head) (c costlyCreation, known bool) {
	n.Lock()
	defer n.Unlock()
	c, known = n.entries[head.Meta.UID]
	return c, known && c.generation == head.Meta.Generation
}

// is reports whether the last creations for an object, at this generation, were costly.
func (n *costly) is(head *schema.Head) bool {
	_, known := n.of(head)
	return known
}

// wait returns for how long nothing is created for an object; 0 if creations are allowed.
func (n *costly) wait(head *schema.Head) time.Duration {
	c, known := n.of(head)
	if !known {
		return 0
	}
	return max(c.until.Sub(n.now()), 0)
}
