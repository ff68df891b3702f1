package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// Violation is one thing that an operator should not have done, or should have.
type Violation struct {
	Oracle string // O1 to O8
	Text   string
}

func (v Violation) String() string { return v.Oracle + ": " + v.Text }

// Reference is what a run was like in which nothing went wrong. Names have JOB for the name of the job.
type Reference struct {
	Digest string
	// Created and Deleted count by resource ("pods") and name. What was made in the moment of the job's deletion is left out.
	Created, Deleted map[string]map[string]int
	// Writes are the operator's requests that could change something, events left out.
	Writes int
	// Versions are the resourceVersions of the run, events left out, in their order.
	Versions []string
	Duration time.Duration
	Events   int
}

// Rules are what an operator is held to, beside what every operator is.
type Rules struct {
	// Settled: the object has come to an end of its own accord, and stays there until somebody changes something.
	Settled func(*unstructured.Unstructured) bool
	// Restores: of an object that has settled so, what others take away is made again, once. Else nothing is made.
	Restores func(*unstructured.Unstructured) bool
	// Status is what of the status must be equal at the end.
	Status func(*unstructured.Unstructured) map[string]any
	// Owner of a dependent, by which the operator knows that it is its own; "" if it is not.
	Owner func(*unstructured.Unstructured) types.UID
	// Serves are the plurals of dependents that the operator serves, too: their status is written whoever controls them.
	Serves []string
	// Adopts: the operator may make its object the controller of one that has none.
	Adopts bool
	// Always are the rules that hold at every version of every object (O6).
	Always []func(*Case) []string
	// Writes that may be made where the reference has some, faults left out.
	Writes func(reference int) int
}

// Usual is how many writes any operator may make.
func Usual(reference int) int { return 3*reference + 20 }

// Limits are how much more than in the reference there may be; the zero value stands for the defaults.
type Limits struct {
	Writes int // what the rules say
	Events int // 3 times, and 10
	// Pods that may be made beyond replicas and failures: as many as others have deleted.
	Pods int
	// Notice is how long after a deletion was told the operator may not know of it, for example as the proxy holds its
	// watches. One second.
	Notice time.Duration
	// Edited: others write to the status. A terminal condition may be wiped then, or its time; it may not become another one.
	Edited bool
	// Paths are those of the fields for which the job is rejected at some time of its run.
	Paths []string
	// Taken is what others have deleted and the operator makes again: each is made and deleted that much more often.
	Taken map[string]map[string]int
	// Recreated is how many objects of a resource more may be made and deleted, as others took some away for a while. Of these
	// resources the names do not count: what is made in the place of another may have another name.
	Recreated map[string]int
}

// Observe makes a reference of a run.
func Observe(rules Rules, run *history.Run, journal []proxy.Entry) Reference {
	view := run.View()
	r := Reference{Digest: view.Digest(rules.Status), Writes: writes(journal)}
	created, deleted := newCase(rules, run, journal, nil, Limits{}).counts()
	masked := func(counts map[string]map[string]int) map[string]map[string]int {
		for resource, names := range counts {
			found := map[string]int{}
			for name, n := range names {
				found[view.Mask(name)] = n
			}
			counts[resource] = found
		}
		return counts
	}
	r.Created, r.Deleted = masked(created), masked(deleted)
	events := map[types.UID]bool{}
	var first, last time.Time
	for _, v := range run.Versions() {
		if v.Resource.Resource == "events" {
			events[v.Object.GetUID()] = true
			continue
		}
		r.Versions = append(r.Versions, v.Object.GetResourceVersion())
		if first.IsZero() || v.At.Before(first) {
			first = v.At
		}
		if v.At.After(last) {
			last = v.At
		}
	}
	r.Duration, r.Events = last.Sub(first), len(events)
	return r
}

// writes counts what could have changed something, whatever became of it; events have a budget of their own.
func writes(journal []proxy.Entry) int {
	n := 0
	for _, e := range journal {
		if e.Verb != "get" && e.Resource != "events" {
			n++
		}
	}
	return n
}

// Judge a run. The journal is of the requests that concern the job, lists are the operator's LISTs and WATCHes; both
// may be empty if nobody stood between.
func Judge(rules Rules, run *history.Run, journal, lists []proxy.Entry, against Reference, limits Limits) []Violation {
	found := Observe(rules, run, journal)
	c := newCase(rules, run, journal, lists, limits)
	var all []Violation
	add := func(oracle string, texts ...string) {
		for _, text := range texts {
			all = append(all, Violation{oracle, text})
		}
	}
	add("O1", endState(against.Digest, found.Digest)...)
	add("O2", counts("created", sum(against.Created, limits.Taken), found.Created, limits.Recreated)...)
	add("O2", counts("deleted", sum(against.Deleted, limits.Taken), found.Deleted, limits.Recreated)...)
	add("O5", c.reported()...)
	for _, rule := range append([]func(*Case) []string{conditional, ours, noneLate, fresh}, rules.Always...) {
		add("O6", rule(c)...)
	}
	add("O6", atMost("writes", found.Writes, orElse(limits.Writes, rules.Writes(against.Writes)))...)
	add("O6", atMost("events", found.Events, orElse(limits.Events, 3*against.Events+10))...)
	return all
}

func orElse(limit, usual int) int {
	if limit > 0 {
		return limit
	}
	return usual
}

func atMost(what string, n, limit int) []string {
	if n <= limit {
		return nil
	}
	return []string{fmt.Sprintf("%d %s, at most %d", n, what, limit)}
}

// endState compares two digests.
func endState(want, got string) []string {
	if want == got {
		return nil
	}
	return []string{"the end state differs (-want +got):\n" + cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))}
}

// sum of two counts.
func sum(a, b map[string]map[string]int) map[string]map[string]int {
	all := map[string]map[string]int{}
	for _, counted := range []map[string]map[string]int{a, b} {
		for resource, names := range counted {
			if all[resource] == nil {
				all[resource] = map[string]int{}
			}
			for name, n := range names {
				all[resource][name] += n
			}
		}
	}
	return all
}

// counts compares how often each object was made, or deleted; of a resource of which some more may be, how often all were.
func counts(verb string, want, got map[string]map[string]int, more map[string]int) (found []string) {
	resources := map[string]bool{}
	for _, counted := range []map[string]map[string]int{want, got} {
		for resource := range counted {
			resources[resource] = true
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(resources)) {
		if more[resource] > 0 {
			if w, g := total(want[resource]), total(got[resource]); g < w || g > w+more[resource] {
				found = append(found, fmt.Sprintf("%s were %s %d times, want %d to %d", resource, verb, g, w, w+more[resource]))
			}
			continue
		}
		names := map[string]bool{}
		for _, counted := range []map[string]int{want[resource], got[resource]} {
			for name := range counted {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if w, g := want[resource][name], got[resource][name]; w != g {
				found = append(found, fmt.Sprintf("%s %s was %s %d times, want %d", resource, name, verb, g, w))
			}
		}
	}
	return found
}

func total(counted map[string]int) (sum int) {
	for _, n := range counted {
		sum += n
	}
	return sum
}
