package simulation

import (
	"context"
	"time"
)

// process is one run of the operator, as the API server sees it.
type process struct {
	id   int
	gate *gate
	dead bool // guarded by gate.mu
	stop context.CancelFunc
	done chan struct{}
	// failures counts, for each resource that it has begun to list or watch, the failed requests. Guarded by gate.mu.
	failures map[string]int
}

// fail records that a reflector may back off.
func (p *process) fail(resource string) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if n, known := p.failures[resource]; known {
		p.failures[resource] = n + 1
	}
}

// backOff returns the longest time that a reflector may now wait before its next request. client-go draws the actual time. The
// adversary does not look before the longest has passed, so the draw decides nothing.
func backOff(failures int) time.Duration {
	const longest = time.Minute
	d := 1600 * time.Millisecond
	for range failures {
		d = min(2*d, longest)
	}
	return d + 1200*time.Millisecond
}

// missing returns how long at most a reflector of the process waits; 0 if none does.
func (p *process) missing() (longest time.Duration) {
	isThere := map[string]bool{}
	discovers := false
	for _, q := range p.gate.requests() {
		if q.from == p && q.discovers() {
			discovers = true // after 410 a watch begins again with a discovery request: is its kind served?
		}
		if q.from == p && q.reflects() {
			isThere[q.Resource] = true
		}
	}
	for _, w := range p.gate.open() {
		if w.from == p {
			isThere[w.Resource.Plural] = true
		}
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	for resource, failures := range p.failures {
		if isBuiltIn := resource == "pods" || resource == "services"; !isThere[resource] && (isBuiltIn || !discovers) {
			longest = max(longest, backOff(failures))
		}
	}
	return longest
}
