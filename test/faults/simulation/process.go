package simulation

import "time"

// trouble is what a process has had with the watch of one resource.
type trouble struct{ failures int }

// backOff is the longest that a reflector may now wait before it asks again. client-go draws how long it does; the
// adversary does not look before it must have asked, so that the draw decides nothing.
func (t *trouble) backOff() time.Duration {
	const longest = time.Minute
	d := 1600 * time.Millisecond
	for range t.failures {
		if d *= 2; d > longest {
			d = longest
			break
		}
	}
	return d + 1200*time.Millisecond
}

// observe notes how much of the history a process has heard of. While a reconcile runs it may still act on what it knew
// when the reconcile began; when it has no request under way, no reconcile does. A watch that was cut and begins again holds its events
// until a list has said where the store stands.
func (p *process) observe() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	asks := map[string]bool{}
	for _, q := range p.gate.parked {
		switch {
		case q.from != p || q.resource == "events" || q.resource == "discovery":
		case q.reflects():
			asks[q.resource] = true
		default:
			return
		}
	}
	for _, s := range p.gate.streams {
		if s.from == p && !asks[s.resource] {
			p.knows[s.resource] = max(p.knows[s.resource], s.position)
		}
	}
}

// missing says whether a reflector of the process waits, and for how long at most.
func (p *process) missing() time.Duration {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	there, asksFirst := map[string]bool{}, false
	for _, q := range p.gate.parked {
		if q.from == p && q.resource == "discovery" {
			asksFirst = true // a watch that ended with 410 begins anew with the question whether its kind is served
		}
		if q.from == p && q.reflects() {
			there[q.resource] = true
		}
	}
	for _, s := range p.gate.streams {
		if s.from == p {
			there[s.resource] = true
		}
	}
	var longest time.Duration
	for resource, t := range p.watched {
		if builtIn := resource == "pods" || resource == "services"; !there[resource] && (builtIn || !asksFirst) {
			longest = max(longest, t.backOff())
		}
	}
	return longest
}
