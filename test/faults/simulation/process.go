package simulation

import "time"

// trouble counts the failures of a process with the watch of one resource.
type trouble struct{ failures int }

// backOff returns the longest time that a reflector may now wait before its next request. client-go draws the actual time. The
// adversary does not look before the longest has passed, so the draw decides nothing.
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

// observe records how much of the history a process has observed. While a reconcile runs it may still act on what the process
// knew when the reconcile began; when the process has no request in flight, no reconcile runs. A watch that was cut and restarts
// holds its events until a list has returned the current version of the store, which may fail several times.
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
		if s.from == p && !s.held && !asks[s.resource] {
			p.knows[s.resource] = max(p.knows[s.resource], s.position)
		}
	}
}

// missing returns how long at most a reflector of the process waits; 0 if none does.
func (p *process) missing() time.Duration {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	there, asksFirst := map[string]bool{}, false
	for _, q := range p.gate.parked {
		if q.from == p && q.resource == "discovery" {
			asksFirst = true // after 410 a watch begins again with a discovery request: is its kind served?
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
