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

// Violation is one thing that an operator did and should not have done, or the reverse.
type Violation struct {
	Oracle string // O1 to O7
	Text   string
}

func (v Violation) String() string { return v.Oracle + ": " + v.Text }

// Reference describes a run in which nothing went wrong. Names have JOB for the name of the job.
type Reference struct {
	Digest string
	// Created and Deleted count by resource ("pods") and name. Objects created in the moment of the job's deletion are left out.
	Created, Deleted map[string]map[string]int
	// Writes counts the operator's requests that could change something, without events.
	Writes int
	// Versions are the resourceVersions of the run in their order, without events.
	Versions []string
	Events   int
}

// Rules are what one operator must meet, beyond the rules for every operator.
type Rules struct {
	// Status returns the part of the status that must be equal at the end.
	Status func(*unstructured.Unstructured) map[string]any
	// Owner returns the owner of a dependent, by which the operator knows that it is its own; "" if it is not.
	Owner func(*unstructured.Unstructured) types.UID
	// Always are the rules that hold at every version of every object (O6).
	Always []func(*Case) []string
}

// Limits are the allowances beyond the reference; zero means the default.
type Limits struct {
	// Writes is how many more may be made than are usual for the reference: three times as many, and 20.
	Writes int
	// Notice is how long after a deletion was reported the operator may not know of it, for example because the proxy holds its
	// watches. The default is one second.
	Notice time.Duration
	// Edited: others write to the status, and may remove a terminal condition.
	Edited bool
	// Malformed returns the path of the problem in the spec of a job, or ""; nil: there is none.
	Malformed func(job *unstructured.Unstructured) string
	// Paths are those of the fields for which the job is rejected at some point of its run.
	Paths []string
}

// Observe makes a reference of a run.
func Observe(rules Rules, run *history.Run, journal []proxy.Entry) Reference {
	view := run.View()
	r := Reference{Digest: view.Digest(rules.Status), Writes: writes(journal)}
	created, deleted := newCase(rules, run, journal, Limits{}).counts()
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
	for _, v := range run.Versions() {
		if v.Resource.Resource == "events" {
			events[v.Object.GetUID()] = true
			continue
		}
		r.Versions = append(r.Versions, v.Object.GetResourceVersion())
	}
	r.Events = len(events)
	return r
}

// writes counts the requests that could have changed something, whatever their result; events have a separate budget.
func writes(journal []proxy.Entry) int {
	n := 0
	for _, e := range journal {
		if e.Verb != "get" && e.Resource != "events" {
			n++
		}
	}
	return n
}

// Judge judges a run. The journal has the requests that concern the job; it is empty if there was no proxy.
func Judge(rules Rules, run *history.Run, journal []proxy.Entry, against Reference, limits Limits) []Violation {
	found := Observe(rules, run, journal)
	c := newCase(rules, run, journal, limits)
	var all []Violation
	add := func(oracle string, texts ...string) {
		for _, text := range texts {
			all = append(all, Violation{oracle, text})
		}
	}
	add("O1", endState(against.Digest, found.Digest)...)
	add("O2", counts("created", against.Created, found.Created)...)
	add("O2", counts("deleted", against.Deleted, found.Deleted)...)
	add("O5", c.reported()...)
	all = append(all, c.always()...)
	add("O6", atMost("writes", found.Writes, 3*against.Writes+20+limits.Writes)...)
	add("O6", atMost("events", found.Events, 3*against.Events+10)...)
	return all
}

// Always judges the rules that hold at every version and for every request (O6).
func Always(rules Rules, run *history.Run, journal []proxy.Entry, limits Limits) []Violation {
	return newCase(rules, run, journal, limits).always()
}

func (c *Case) always() (found []Violation) {
	for _, rule := range append([]func(*Case) []string{conditional, ours, noneLate}, c.rules.Always...) {
		for _, text := range rule(c) {
			found = append(found, Violation{"O6", text})
		}
	}
	return found
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

// counts compares how often each object was created, or deleted.
func counts(verb string, want, got map[string]map[string]int) (found []string) {
	for _, resource := range unionOfKeys(want, got) {
		for _, name := range unionOfKeys(want[resource], got[resource]) {
			if w, g := want[resource][name], got[resource][name]; w != g {
				found = append(found, fmt.Sprintf("%s %s was %s %d times, want %d", resource, name, verb, g, w))
			}
		}
	}
	return found
}

func unionOfKeys[V any](a, b map[string]V) []string {
	both := maps.Clone(a)
	if both == nil {
		both = map[string]V{}
	}
	maps.Copy(both, b)
	return slices.Sorted(maps.Keys(both))
}
