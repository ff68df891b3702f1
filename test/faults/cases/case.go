package cases

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/sandbox"
	"stoic/test/faults/scenario"
)

type groupVersionResource = schema.GroupVersionResource

// Goal is a family of cases, by its number in docs/reliability.md: G1 and so on.
type Goal string

// Case is one run of one job, with one act at one point of it.
type Case struct {
	Goal     Goal
	Scenario scenario.Scenario
	point    point
	act      act
}

// place is what a point counts.
type place string

const (
	atWrite    place = "write K"               // of the operator
	atRequest  place = "request K"             // of the operator, including reads of single objects
	beforeStep place = "step K"                // of the user, from 0: the first is not counted
	afterStep  place = "the user's step K"     // from 1
	atVersion  place = "the end, to version K" // of the reference: the operator returns to it at the end of the run
	atEnd      place = "the end"
)

// point is where in a run an act strikes. k counts from 1.
type point struct {
	place place
	k     int
}

func (p point) String() string { return strings.ReplaceAll(string(p.place), "K", fmt.Sprint(p.k)) }

// isEnd reports whether the act follows the whole scenario.
func (p point) isEnd() bool { return p.place == atEnd || p.place == atVersion }

// act is what happens at a point.
type act struct {
	name string
	// fault is what happens to a write, or to a request. do is what happens at a step, or at the end. Neither: a run without faults.
	fault func(*Attempt) proxy.Act
	do    func(context.Context, *Attempt, point) error
	// times is how many requests in a row a fault strikes; 0 is one.
	times int
	// adapt changes the case to the run; false: the act makes no sense at that point of it.
	adapt func(*Case, reference) bool
	// check is an oracle of this act only; it judges last.
	check func(*Attempt) []oracle.Violation
	// strikes is how often the fault must strike; 0 is once.
	strikes int
	// liftAfter: the fault ends at the latest after this time; 0: at the end of the run.
	liftAfter time.Duration
	// noBookmarks: no watch gets bookmarks during the run.
	noBookmarks bool
	// endsRun: what follows in the scenario does not take place, and the job is gone in the end.
	endsRun bool
	// excuse is what the oracles must tolerate.
	excuse excuse
}

// excuse is what the oracles must tolerate because of an act.
type excuse struct {
	// oracles do not hold.
	oracles []string
	// patience is how long the operator has after the last fault; 0 is the usual time.
	patience time.Duration
	// notice is how much longer than usual the operator may not know of a deletion, because the fault hides it.
	notice time.Duration
	// writes and pods are how many more than usual may be made.
	writes, pods int
	// edited: other clients write to the status of the job.
	edited bool
}

// Fault says what strikes and where. It is unique within goal and scenario: "crash before write 7".
func (c Case) Fault() string { return strings.TrimSpace(c.act.name + " " + c.point.String()) }

// Name returns the name by which the case is found again: "G1/succeed/crash before write 7".
func (c Case) Name() string { return fmt.Sprintf("%s/%s/%s", c.Goal, c.Scenario.Name, c.Fault()) }

// Result is the result of a case.
type Result struct {
	Case Case
	// Missed: the point of the case did not occur, so it shows nothing.
	Missed     bool
	Violations []oracle.Violation
	// Settled is the time from the last fault, or the end of the user's part, to the end state.
	Settled time.Duration
	// Evidence is the file with journal and history, for a failed case.
	Evidence string
}

// reference is the result of a run without faults, and the points at which a fault can strike.
type reference struct {
	oracle.Reference
	// writes counts the numbered requests, including events; requests counts these and the reads of single objects.
	writes, requests int
	// exists: the object exists at the end; state is the type of its last condition that is True.
	exists bool
	state  string
	// isOver: the object has ended by itself, and dependents that others delete are not recreated.
	isOver bool
}

func observe(rules oracle.Rules, run *history.Run, journal []proxy.Entry) reference {
	job := run.View().Job
	r := reference{Reference: oracle.Observe(rules, run, journal), requests: len(journal), exists: job != nil, state: history.State(job).Type}
	r.isOver = job != nil && rules.Settled(job) && !rules.Restores(job)
	for _, e := range journal {
		r.writes = max(r.writes, e.Number)
	}
	return r
}

// Attempt is one case being tried.
type Attempt struct {
	Case
	worker    *worker
	sandbox   *sandbox.Sandbox // the worker's
	track     *proxy.Track
	run       *history.Run
	actor     scenario.Actor
	reference reference

	began time.Time
	lists int // lists in the proxy's record when the case began
	// pending are parts of a fault that end later.
	pending sync.WaitGroup
	// recreated is how many objects of a resource may be recreated, because another client removed some for a while.
	recreated map[string]int
	// struck and over are set by acts at a step: whether the fault struck, and since when the job is over.
	struck bool
	over   time.Time
	// failed collects errors of callbacks, which have no caller to return them to.
	failed chan error
}

// fail records an error of a callback.
func (a *Attempt) fail(err error) {
	if err == nil {
		return
	}
	select {
	case a.failed <- err:
	default: // the first ones are enough
	}
}

// crash kills the operator and starts it again.
func (a *Attempt) crash() { a.fail(a.sandbox.Restart()) }

// inject arms the fault of a request or write.
func (a *Attempt) inject() {
	if a.act.fault != nil {
		a.track.Inject(proxy.Fault{At: a.point.k, Times: a.act.times, Reads: a.point.place == atRequest, Act: a.act.fault(a)})
	}
}

// hasStruck reports whether the fault struck.
func (a *Attempt) hasStruck() bool {
	times, _ := a.track.Fired()
	return a.act.fault == nil && a.act.do == nil || a.struck || times >= max(1, a.act.strikes)
}

// scenarioWith returns the scenario of an attempt with its act before or after the step of its point. The act before a step is done
// when the step's own condition holds, and the step itself is taken afterwards.
func (a *Attempt) scenarioWith() scenario.Scenario {
	sc := a.Scenario
	if a.act.do == nil || a.point.isEnd() {
		return sc
	}
	at := a.point.k
	when := func(history.View) (bool, string) { return true, "" }
	if a.point.place == beforeStep {
		when = sc.Steps[at].When
	}
	step := scenario.Step{Name: "fault", When: when, Do: func(ctx context.Context, _ scenario.Actor) error { return a.act.do(ctx, a, a.point) }}
	sc.Steps = slices.Insert(slices.Clone(sc.Steps), at, step)
	if a.act.endsRun {
		sc.Steps = sc.Steps[:at+1]
		sc.End = func(v history.View) (bool, string) { return v.Job == nil, "the job is there" }
	}
	return sc
}
