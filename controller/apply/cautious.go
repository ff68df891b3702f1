package apply

import (
	"errors"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"stoic/internal/lean"
	"stoic/schema"
)

// cautious remembers in which namespaces creations of a resource were refused, as the namespace terminates or a quota is used up. The
// next object there is likely to be refused, too, so it begins with one creation. The first object cannot know: up to maxConcurrent of
// its creations may be refused. A check before them would cost every other object a round trip.
type cautious struct {
	mu    sync.Mutex
	until map[place]time.Time
	now   func() time.Time
}

type place struct {
	namespace string
	resource  schema.Resource
}

func newCautious(now func() time.Time) *cautious {
	return &cautious{until: map[place]time.Time{}, now: now}
}

// is reports whether a creation like one of these was refused recently.
func (c *cautious) is(objects []schema.Object) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, o := range objects {
		if now.Before(c.until[place{o.Namespace, o.Resource}]) {
			return true
		}
	}
	return false
}

// note records the outcome of the creations. Errors that say nothing of a namespace change nothing.
func (c *cautious) note(objects []schema.Object, failed []error) {
	refused := map[schema.Resource]bool{}
	for _, err := range failed {
		var write *writeError
		if errors.As(err, &write) && (apierrors.IsForbidden(err) || lean.NamespaceGone(err) || isElsewhere(err)) {
			refused[write.resource] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, o := range objects {
		if at := (place{o.Namespace, o.Resource}); refused[o.Resource] {
			c.until[at] = now.Add(LastRefused)
		} else if len(failed) == 0 {
			delete(c.until, at)
		}
	}
	if len(refused) > 0 {
		maps.DeleteFunc(c.until, func(_ place, until time.Time) bool { return !now.Before(until) })
	}
}
