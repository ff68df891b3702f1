package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/sandbox"
	"stoic/test/faults/scenario"
)

// Goal is a family of cases, by its number in docs/reliability.md: G1 and so on.
type Goal string

// Case is one run of one job, with one act at one point of it.
type Case struct {
	Goal     Goal
	Scenario scenario.Scenario
	point    point
	act      act
}

// point is where in a run an act strikes: one of its numbers is set.
type point struct {
	write   int // the k-th write of the operator, from 1
	request int // the k-th request of the operator, including reads of single objects
	after   int // after the k-th step of the user, from 1
	step    int // before the k-th step of the user; after the last one it is the end of the run
	version int // of the reference, from 1: the operator returns to it at the end of the run
	isEnd   bool
}

func (p point) String() string {
	switch {
	case p.write > 0:
		return fmt.Sprintf("write %d", p.write)
	case p.request > 0:
		return fmt.Sprintf("request %d", p.request)
	case p.version > 0:
		return fmt.Sprintf("the end, to version %d", p.version)
	case p.isEnd:
		return "the end"
	case p.after > 0:
		return fmt.Sprintf("step %d", p.after)
	}
	return fmt.Sprintf("step %d", p.step)
}

// act is what happens at a point.
type act struct {
	name string
	// fault is the fault of a request: at a write, or at a request. do is what happens at a step, or at the end. None: a run
	// without faults.
	fault func(*Attempt) proxy.Fault
	do    func(context.Context, *Attempt, point) error
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
	// first: every API server causes this fault sooner or later, so it comes before a sample of the others.
	first bool
	// excuse is what the oracles must tolerate.
	excuse excuse
}

// excuse is what the oracles must tolerate because of an act.
type excuse struct {
	// oracles do not hold, for a reason.
	oracles map[string]string
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
func (c Case) Fault() string {
	if c.point == (point{}) {
		return c.act.name
	}
	return c.act.name + " " + c.point.String()
}

// Name returns the name by which the case is found again: "G1/succeed/crash before write 7".
func (c Case) Name() string { return fmt.Sprintf("%s/%s/%s", c.Goal, c.Scenario.Name, c.Fault()) }

const (
	// usualPatience bounds the time from the last fault to the end state. It is far above what the operator needs, since dozens of
	// sandboxes share two cores, which may have other work.
	usualPatience = time.Minute
	// usualNotice allows for the delays of watches and of the machine. busyNotice is added on a machine that has other work.
	usualNotice = 2 * time.Second
	busyNotice  = 30 * time.Second
)

// Attempt is one case being tried.
type Attempt struct {
	Case
	sandbox   *sandbox.Sandbox
	track     *proxy.Track
	run       *history.Run
	actor     scenario.Actor
	reference reference

	worker *worker
	began  time.Time
	lists  int // lists in the proxy's record when the case began
	// pending are parts of a fault that end later.
	pending sync.WaitGroup
	// taken counts what others have deleted and the operator recreates, by resource and masked name.
	taken map[string]map[string]int
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

// hasStruck reports whether the fault struck.
func (a *Attempt) hasStruck() bool {
	times, _ := a.track.Fired()
	return a.act.fault == nil && a.act.do == nil || a.struck || times >= max(1, a.act.strikes)
}

// Result is the result of a case.
type Result struct {
	Case       Case
	Missed     bool
	Violations []oracle.Violation
	// Settled is the time from the last fault, or the end of the user's part, to the end state.
	Settled time.Duration
	Canary  time.Duration
	// Evidence is the file with journal and history, for a failed case.
	Evidence string
}

// errOver is the end of the whole run, which is not a failure.
var errOver = errors.New("the run is over")

// scenarioWith returns the scenario of an attempt with its act before the step of its point. The act is done when the step's own
// condition holds, and the step itself is taken afterwards.
func (a *Attempt) scenarioWith() scenario.Scenario {
	sc := a.Scenario
	if a.act.do == nil || a.atEnd() {
		return sc
	}
	at := a.point.after
	when := func(history.View) (bool, string) { return true, "" }
	if at == 0 {
		at = a.point.step
		when = sc.Steps[at].When
	}
	step := scenario.Step{Name: "fault", When: when, Do: func(ctx context.Context, _ scenario.Actor) error { return a.act.do(ctx, a, a.point) }}
	sc.Steps = slices.Insert(slices.Clone(sc.Steps), at, step)
	if a.act.endsRun {
		sc.Steps = sc.Steps[:at+1]
		sc.End = isGone
	}
	return sc
}

// atEnd reports whether the act follows the whole scenario.
func (a *Attempt) atEnd() bool { return a.point.isEnd || a.point.version > 0 }

func isGone(v history.View) (bool, string) { return v.Job == nil, "the job is there" }

// await polls what no watch reports.
func await(ctx context.Context, what string, holds func() bool) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// pass lets time pass in which something wrong could happen. There is no condition to wait for.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("let time pass: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}
