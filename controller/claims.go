package controller

import (
	"cmp"
	"slices"

	"stoic/controller/cache"
	"stoic/convert"
	"stoic/schema"
)

// claim sorts the dependents of an object by their labels, if objects claim them by label.
func (r *watcher) claim(d *cache.Dependents, object *convert.Result, found *schema.Children) {
	if d.Claims == nil {
		return
	}
	cache.Claim(found, r.objects.Claims(d, object), func(orphan schema.Candidate) bool {
		contested := false
		r.eachClaimant(d, orphan, func(_ *watcher, other *convert.Result) {
			contested = contested || other.Meta.UID != object.Meta.UID && older(other, object)
		})
		return contested
	})
}

// older reports whether a has the better claim of two owners.
func older(a, b *convert.Result) bool {
	return cmp.Or(a.Meta.CreationTimestamp.Compare(b.Meta.CreationTimestamp.Time), cmp.Compare(a.Meta.UID, b.Meta.UID)) < 0
}

// eachClaimant calls do for every object, of all watches, that claims an orphan. It checks all objects, as labels cannot be indexed by
// the selectors of others; orphans are few.
func (c *Controller) eachClaimant(d *cache.Dependents, orphan schema.Candidate, do func(*watcher, *convert.Result)) {
	for _, w := range c.watchers {
		if !slices.Contains(w.dependents, d) {
			continue
		}
		w.objects.Each(func(object *convert.Result) {
			if !object.Reaches(orphan.Namespace) {
				return
			}
			if selector := w.objects.Claims(d, object); selector != nil && selector.Matches(orphan.Labels) {
				do(w, object)
			}
		})
	}
}

// wakeClaimants queues the objects that claim an orphan. It runs on the goroutine of an informer.
func (c *Controller) wakeClaimants(d *cache.Dependents, orphan schema.Candidate) {
	if c.mayWrite() {
		c.eachClaimant(d, orphan, func(w *watcher, object *convert.Result) { w.enqueue(object) })
	}
}

// yielded wakes other claimants when an object is gone (after is nil) or no longer claims what it claimed: there is no other event for
// them.
func (r *watcher) yielded(before, after *convert.Result) {
	for _, d := range r.dependents {
		if after == nil || r.claimsOthers(d, before, after) {
			r.wakeOrphans(d, cache.ReachOf(before.Head))
		}
	}
}

// claimsOthers reports whether an object claimed what it, or the object that took its name, no longer claims. A selector of all objects
// and one of none have the same text.
func (r *watcher) claimsOthers(d *cache.Dependents, before, after *convert.Result) bool {
	was, is := r.objects.Claims(d, before), r.objects.Claims(d, after)
	return was != nil && (is == nil || before.Meta.UID != after.Meta.UID || was.String() != is.String() || was.Empty() != is.Empty())
}

// wakeOrphans enqueues the objects that claim what has no controller in a namespace; "" is all.
func (c *Controller) wakeOrphans(d *cache.Dependents, namespace string) {
	if c.mayWrite() {
		d.EachOrphan(namespace, func(orphan schema.Candidate) { c.wakeClaimants(d, orphan) })
	}
}

// isShared reports whether objects of several watches have such dependents.
func (c *Controller) isShared(d *cache.Dependents) bool {
	has := func(w *watcher) bool { return slices.Contains(w.dependents, d) }
	first := slices.IndexFunc(c.watchers, has)
	return first >= 0 && slices.ContainsFunc(c.watchers[first+1:], has)
}
