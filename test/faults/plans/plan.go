package plans

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/sandbox"
	"stoic/test/faults/scenario"
)

// Goal is a family of plans, by its number in the design: G1 and so on.
type Goal string

// Plan is one run of one job, with one fault at one point of it.
type Plan struct {
	Goal     Goal
	Scenario scenario.Scenario
	// Fault says what strikes and where. It is unique within goal and scenario: "crash before write 7".
	Fault string

	// arrange is called before the job exists, with its operator running.
	arrange func(*Attempt) error
	// during runs in parallel with the run, until its context ends with the run.
	during func(context.Context, *Attempt)
	// afterwards is called when the scenario has ended.
	afterwards func(context.Context, *Attempt) error
	// came reports whether the fault struck; nil: the proxy's track decides.
	came func(*Attempt) bool
	// more is an oracle of this plan alone; it judges last.
	more func(*Attempt) []oracle.Violation
	// spared are oracles that do not hold for this plan, with the reason.
	spared map[string]string
	// patience is how long the operator has after the last fault; 0 is the usual time.
	patience time.Duration
	// writes is how many writes beyond the usual number may be made.
	writes int
	// pods is how many more pods may be created: those that others delete.
	pods int
	// notice is how long the operator may not know of a deletion, because the fault hides it.
	notice time.Duration
	// edited: other clients write to the status of the job.
	edited bool
	// basic: the fault is one that every API server causes sooner or later.
	basic bool
	// hurry: the plan measures times, and runs while little else does.
	hurry bool
	// canary: another job in the sandbox, without faults, is timed.
	canary bool
}

// Name returns the name by which the plan is found again: "G1/succeed/crash before write 7".
func (p Plan) Name() string { return fmt.Sprintf("%s/%s/%s", p.Goal, p.Scenario.Name, p.Fault) }

// Hurried reports whether the plan measures times, and should run while little else does.
func (p Plan) Hurried() bool { return p.hurry }

// usualPatience bounds the time from the last fault to the end state. It is far above what the operator needs, since dozens of
// sandboxes share two cores, which may have other work.
const usualPatience = time.Minute

// usualNotice allows for delays of watches and of the machine.
const usualNotice = 2 * time.Second

// busyNotice allows for those of a machine that has other work.
const busyNotice = 30 * time.Second

// Attempt is one plan being tried.
type Attempt struct {
	Plan
	Sandbox   *sandbox.Sandbox
	Track     *proxy.Track
	Run       *history.Run
	Actor     scenario.Actor
	Reference reference

	worker *worker
	busy   bool // see Options
	began  time.Time
	lists  int // lists in the proxy's record when the plan began
	// taken counts what others have deleted and the operator recreates, by resource and masked name.
	taken map[string]map[string]int
	// recreated is how many objects of a resource may be recreated, because another client removed some for a while.
	recreated map[string]int
	mu        sync.Mutex // guards notes
	// struck is set by faults that do not go through the track.
	struck bool
	// notes are the times that a fault records for its oracles.
	notes map[string]time.Time
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

// crash kills the operator and starts it again; of several processes the one whose request the fault has struck.
func (a *Attempt) crash() {
	if a.Sandbox.IsApart() {
		a.fail(a.Sandbox.RestartOne(a.Track.Struck(), false))
		return
	}
	a.fail(a.Sandbox.Restart())
}

// crashOthers kills the processes whose request the fault has not struck, and starts them again.
func (a *Attempt) crashOthers() { a.fail(a.Sandbox.RestartOne(a.Track.Struck(), true)) }

// Result is the result of a plan.
type Result struct {
	Plan       Plan
	Missed     bool
	Violations []oracle.Violation
	Took       time.Duration
	// Settled is the time from the last fault, or the end of the user's part, to the end state.
	Settled time.Duration
	Canary  time.Duration
	// Evidence is the file with journal and history, for a failed plan.
	Evidence string
}

// errOver is the end of the whole run, which is not a failure.
var errOver = errors.New("the run is over")
