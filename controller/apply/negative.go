package apply

import (
	"cmp"
	"maps"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// negativeCache remembers, by the UID of an object, the last writes of dependents that had no result: they were refused, or accepted
// without effect (a schema drops their fields). Without it, each reconcile of an object would repeat such a write, although the object
// does without that dependent.
type negativeCache struct {
	memory[map[string]uselessWrite] // by resource and name of the dependent
}

type uselessWrite struct {
	asked   string
	refused bool
	tries   int
	again   time.Time
}

func newNegativeCache() *negativeCache {
	return &negativeCache{newMemory[map[string]uselessWrite]()}
}

// targetOf returns what a write is about: a resource, a namespace, a name, and a subresource if there is one.
func targetOf(r schema.Resource, namespace string, path ...string) string {
	return strings.Join(append([]string{r.APIVersion(), r.Plural, namespace}, path...), "/")
}

// wait returns how long the same write is left out (0: it is to be tried), and when to requeue for it. A refused write is worth a
// requeue: the cause of a refusal may end without an event, such as a webhook that failed for a minute. A write that changed nothing is
// not: a schema is the cause.
func (n *negativeCache) wait(owner types.UID, target, asked string, now time.Time) (wait, requeue time.Duration) {
	n.Lock()
	defer n.Unlock()
	f, ok := n.entries[owner][target]
	if !ok || f.asked != asked || !now.Before(f.again) {
		return 0, 0
	}
	wait = f.again.Sub(now)
	if f.refused {
		return wait, wait
	}
	return wait, 0
}

// note records that a write led to nothing, with an error or without, or that it led to something.
func (n *negativeCache) note(owner types.UID, target, asked string, err error, changed bool, now time.Time) {
	n.Lock()
	defer n.Unlock()
	first, most := waits(err)
	if first == 0 && (err != nil || changed) {
		if delete(n.entries[owner], target); len(n.entries[owner]) == 0 {
			delete(n.entries, owner)
		}
		return
	}
	f := uselessWrite{asked: asked, refused: first > 0}
	if before, ok := n.entries[owner][target]; ok && before.asked == asked {
		f.tries = before.tries + 1
	}
	f.again = now.Add(min(cmp.Or(first, FirstRefused)<<min(f.tries, 20), most))
	if n.entries[owner] == nil {
		n.entries[owner] = map[string]uselessWrite{}
	}
	n.entries[owner][target] = f
}

// waits returns how long a write of a dependent that was answered with err is left out at first, and at most; first is 0 if it is not
// refused. What a 403 or 404 lacks (quota, permission, what a webhook looks up) often appears a moment later, so it begins with the
// back-off of errors. The back-off of the key does not do: the next reconcile, which leaves the write out, succeeds and resets it. A write
// that was costly is left out for longer.
func waits(err error) (first, most time.Duration) {
	costly, longest := waitAfter(err)
	switch class := ClassOf(err); {
	case class == Refused:
		return max(FirstRefused, costly), LastRefused
	case costly > 0:
		return costly, longest
	case class == Retry && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
		return FirstBackOff, LastRefused
	}
	return 0, LastRefused
}

// expire forgets a write that no plan has repeated for LastRefused after it might have been tried again: its dependent is deleted, or no
// longer planned, and the owner may exist for years.
func (n *negativeCache) expire(owner types.UID, now time.Time) {
	n.Lock()
	defer n.Unlock()
	writes := n.entries[owner]
	maps.DeleteFunc(writes, func(_ string, w uselessWrite) bool { return now.Sub(w.again) >= LastRefused })
	if len(writes) == 0 {
		delete(n.entries, owner)
	}
}
