package apimodel

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mostStates is how many states of a family are examined on the way to where the collector can come to rest.
const mostStates = 20_000

// clone returns a copy of a side that sends to another server.
func (s *side) clone(send sender) *side {
	c := &side{send: send, namespace: s.namespace, known: map[string]*knowledge{}, uids: maps.Clone(s.uids)}
	for of, k := range s.known {
		copied := *k
		c.known[of] = &copied
	}
	return c
}

// state returns the state of a model without versions: in equal states the collector has the same choices.
func (w *Model) state() string {
	var out strings.Builder
	for _, r := range w.resources {
		for _, key := range w.stores[r.Plural].keys() {
			meta := maps.Clone(metaOf(w.stores[r.Plural].objects[key].tree))
			delete(meta, "resourceVersion")
			fmt.Fprintf(&out, "%s %s %s\n", r.Plural, key, appendJSON(nil, meta))
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.foreground)) {
		fmt.Fprintln(&out, uid)
	}
	return out.String()
}

// rests returns the states in which the collector can come to rest, whatever it does first.
func (w *Model) rests() (found []*Model, err error) {
	seen := map[string]bool{w.state(): true}
	for open := []*Model{w}; len(open) > 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		steps := at.Collect()
		if len(steps) == 0 {
			found = append(found, at)
		}
		for i := range steps {
			next := at.Clone()
			next.Collect()[i].Do()
			if state := next.state(); !seen[state] {
				seen[state] = true
				open = append(open, next)
			}
		}
		if len(seen) > mostStates {
			return nil, fmt.Errorf("more than %d states on the way to rest", mostStates)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the collector does not come to rest in any of %d states", len(seen))
	}
	return found, nil
}

// TestRests: an owner waits for an object, whose own dependent has been deleted in the foreground. The order decides whether the
// object is deleted; both ends are found.
func TestRests(t *testing.T) {
	w := supposedCircle(t)
	before := w.state()
	found, err := w.rests()
	if err != nil {
		t.Fatal(err)
	}
	left := map[int]int{}
	for _, at := range found {
		left[len(at.Objects("pods"))]++
		if len(at.Objects("tfjobs")) > 0 {
			t.Error("a job that is deleted in the foreground stays")
		}
	}
	if left[0] != 1 || left[1] != 1 || len(found) != 2 {
		t.Errorf("by the number of pods, the states of rest are %v; want one with and one without", left)
	}
	if w.state() != before || len(w.Collect()) == 0 {
		t.Error("looking for them changed the model")
	}
}
