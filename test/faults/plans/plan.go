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
	// Fault says what strikes and where, and is unique within goal and scenario: "crash before write 7".
	Fault string

	// arrange is called before the job exists, with its operator running.
	arrange func(*Attempt) error
	// during runs beside the run, until its context ends with the run.
	during func(context.Context, *Attempt)
	// afterwards is called when the scenario has been run.
	afterwards func(context.Context, *Attempt) error
	// came says whether the fault struck; nil asks the proxy's track.
	came func(*Attempt) bool
	// more are oracles of this plan alone; they are asked last.
	more func(*Attempt) []oracle.Violation
	// spared are oracles that do not hold for this plan, with the reason.
	spared map[string]string
	// patience is how long the operator has after the last fault; 0 is usual.
	patience time.Duration
	// writes is how many more writes than usual may be made.
	writes int
	// pods are how many more may be made: those that others take away.
	pods int
	// notice is how long the operator may not know of a deletion, because the fault hides it.
	notice time.Duration
	// edited: others write to the status of the job.
	edited bool
	// basic: one of the faults that every API server shows some day.
	basic bool
	// hurry: the plan measures times, and is run while little else is.
	hurry bool
	// canary: another job in the sandbox, which no fault concerns, is timed.
	canary bool
}

// Name finds the plan again: "G1/succeed/crash before write 7".
func (p Plan) Name() string { return fmt.Sprintf("%s/%s/%s", p.Goal, p.Scenario.Name, p.Fault) }

// Hurried: the plan measures times, and should be tried while little else is.
func (p Plan) Hurried() bool { return p.hurry }

// usualPatience bounds the time from the last fault to the end state. It is far above what the operator needs, since
// dozens of sandboxes share two cores.
const usualPatience = 30 * time.Second

// usualNotice allows for watches and the machine.
const usualNotice = 2 * time.Second

// Attempt is one plan being tried.
type Attempt struct {
	Plan
	Sandbox   *sandbox.Sandbox
	Track     *proxy.Track
	Run       *history.Run
	Actor     scenario.Actor
	Reference reference

	worker *worker
	began  time.Time
	lists  int // lists in the proxy's record when the plan began
	// taken is what others have deleted and the operator makes again, by resource and masked name.
	taken map[string]map[string]int
	// recreated is how many objects of a resource may be made again, as somebody has taken some away for a while.
	recreated map[string]int
	mu        sync.Mutex // guards notes
	// struck is set by faults that do not go through the track.
	struck bool
	// notes is what a fault remembers for its oracles.
	notes map[string]time.Time
	// failed collects errors of callbacks, which have nobody to return them to.
	failed chan error
}

// fail notes an error of a callback.
func (a *Attempt) fail(err error) {
	if err == nil {
		return
	}
	select {
	case a.failed <- err:
	default: // the first ones are enough
	}
}

// crash kills the operator and starts it again; of several processes that whose request the fault has happened to.
func (a *Attempt) crash() {
	if a.Sandbox.IsApart() {
		a.fail(a.Sandbox.RestartOne(a.Track.Struck(), false))
		return
	}
	a.fail(a.Sandbox.Restart())
}

// crashOthers kills the processes whose request it was not, and starts them again.
func (a *Attempt) crashOthers() { a.fail(a.Sandbox.RestartOne(a.Track.Struck(), true)) }

// Result is what became of a plan.
type Result struct {
	Plan       Plan
	Missed     bool
	Violations []oracle.Violation
	Took       time.Duration
	// Settled is the time from the last fault, or the end of the user's part, to the end state.
	Settled time.Duration
	Canary  time.Duration
	// Evidence is the file with journal and history, of a failed plan.
	Evidence string
}

// errOver is the end of the whole run, which is nobody's failure.
var errOver = errors.New("the run is over")
