package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/proxy"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

const (
	// longestRun bounds the user's part of a scenario under a fault, including back-offs and pauses.
	longestRun = 10 * time.Minute
	// stableFor is how long an end state must last.
	stableFor = 1500 * time.Millisecond
	// past is how long an operator stays in the past: time in which it could do something wrong.
	past = 1500 * time.Millisecond
	// usualPatience bounds the time from the last fault to the end state. It is far above what the operator needs, since dozens of
	// sandboxes share two cores, which may have other work.
	usualPatience = time.Minute
	// usualNotice allows for the delays of watches and of the machine. busyNotice is added on a machine that has other work.
	usualNotice = 2 * time.Second
	busyNotice  = 30 * time.Second
)

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

// attempt is one case being tried.
type attempt struct {
	Case
	worker    *worker
	track     *proxy.Track
	run       *history.Run
	actor     scenario.Actor
	reference reference

	// pending are parts of a fault that end later.
	pending sync.WaitGroup
	// hasTravelled: the operator was in the past.
	hasTravelled bool

	mu     sync.Mutex
	failed []error // of callbacks, which have no caller to return them to
}

// crash kills the operator and starts it again.
func (a *attempt) crash() {
	if err := a.worker.restart(); err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.failed = append(a.failed, err)
	}
}

// later does a part of a fault after a time. The run waits for it.
func (a *attempt) later(d time.Duration, do func()) {
	a.pending.Add(1)
	time.AfterFunc(d, func() {
		defer a.pending.Done()
		do()
	})
}

// travel restarts the operator in the past of its own run and then returns it to the present.
func (a *attempt) travel(ctx context.Context, version int) error {
	versions := a.run.Versions()
	if version >= len(versions) {
		return nil // this run has fewer versions than the reference
	}
	streams := a.worker.proxy.Streams()
	if err := a.worker.kill(); err != nil {
		return err
	}
	streams.AsOf(versions[version].Object.GetResourceVersion())
	defer streams.Present()
	if err := a.worker.start(); err != nil {
		return err
	}
	a.hasTravelled = true
	if _, err := operator.Until(ctx, "the operator to watch in the past", func() (bool, string) {
		return streams.Open(a.Scenario.Resource.Resource) > 0 && streams.Open(a.Scenario.Operator.Dependents[0].Resource) > 0, "no watches"
	}); err != nil {
		return err
	}
	select { // there is no condition to wait for
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(past):
		return nil
	}
}

// try tries a case in a sandbox and judges it.
func (s *Stage) try(ctx context.Context, c Case, w *worker) Result {
	s.mu.Lock()
	s.jobs++
	job := fmt.Sprintf("j%05d", s.jobs) // all have the same length, so that sizes do not differ
	s.mu.Unlock()
	a := &attempt{Case: c, worker: w, track: w.proxy.Follow(job), run: s.recorder.RunOf(c.Scenario.Subject(w.Places, job))}
	a.actor = scenario.Actor{Client: s.admin, Namespace: w.Namespace, Job: job, Run: a.run}
	a.reference, _ = s.reference(c.Scenario.Name)
	result := Result{Case: c}
	_ = w.trouble() // of the time before
	err := w.serve()
	if err == nil {
		err = s.run(ctx, a, &result)
	}
	result.Violations = s.judge(a, err)
	times, _ := a.track.Struck()
	result.Missed = (c.act.fault != nil || c.act.travel != nil) && times == 0 && !a.hasTravelled
	if len(result.Violations) > 0 && ctx.Err() == nil {
		result.Evidence = s.evidence(a, result)
	}
	background := metav1.DeletePropagationBackground
	// An error is ignored: a job that no longer exists is the goal, and one that stays does no harm. Its name is never used again.
	_ = a.actor.Primary().Delete(context.Background(), job, metav1.DeleteOptions{PropagationPolicy: &background})
	s.recorder.Forget(a.run.Subject())
	return result
}

// run takes the scenario to its end state.
func (s *Stage) run(ctx context.Context, a *attempt, result *Result) error {
	running, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	if a.act.fault != nil {
		a.track.Inject(proxy.Fault{At: a.point.k, Times: a.act.times, Act: a.act.fault(a)})
	}
	if a.act.liftAfter > 0 {
		go func() {
			hasStruck := func() (bool, string) { times, _ := a.track.Struck(); return times > 0, "" }
			if _, err := operator.Until(running, "the fault", hasStruck); err == nil {
				time.AfterFunc(a.act.liftAfter, a.track.Lift)
			}
		}()
	}
	if err := a.scenarioWith().Run(running, a.actor); err != nil {
		return fmt.Errorf("run the scenario: %w", err)
	}
	if a.point.place == atVersion {
		if err := a.act.travel(running, a, a.point.k); err != nil {
			return fmt.Errorf("after the user's part: %w", err)
		}
	}
	a.pending.Wait()
	a.track.Lift()
	lifted := time.Now()
	if _, last := a.track.Struck(); last.After(lifted) {
		lifted = last
	}
	err := s.settle(ctx, a)
	result.Settled = time.Since(lifted)
	return err
}

// scenarioWith returns the scenario of an attempt with its travel before the step of its point: when the step's own condition holds. The
// step itself is taken afterwards.
func (a *attempt) scenarioWith() scenario.Scenario {
	sc := a.Scenario
	if a.point.place == beforeStep {
		travel := scenario.Step{Name: "fault", When: sc.Steps[a.point.k].When, Do: func(ctx context.Context, _ scenario.Actor) error {
			return a.act.travel(ctx, a, a.point.k)
		}}
		sc.Steps = slices.Insert(slices.Clone(sc.Steps), a.point.k, travel)
	}
	return sc
}

// errUnstable is returned for an operator that never comes to rest: at the moment of the judgement its state may be the right one.
var errUnstable = errors.New("the end state does not stay")

// settle waits for the reference's end state, and until it has lasted. The first run of a scenario becomes the reference.
func (s *Stage) settle(ctx context.Context, a *attempt) error {
	waiting, cancel := context.WithTimeout(ctx, cmp.Or(a.act.patience, usualPatience))
	defer cancel()
	if a.reference.Digest == "" {
		if err := a.run.Quiet(waiting, 2*stableFor); err != nil {
			return err
		}
		journal := a.track.Journal()
		a.reference.Reference = oracle.Observe(a.Scenario.Operator.Rules, a.run, journal)
		for _, e := range journal {
			a.reference.writes = max(a.reference.writes, e.Number)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.references[a.Scenario.Name] = a.reference
		return nil
	}
	for isReached := false; ; isReached = true {
		err := a.run.Await(waiting, "the end state", a.hasEnded)
		switch {
		case err != nil && isReached && ctx.Err() == nil:
			return errUnstable
		case err != nil:
			return nil // O1 reports the difference better
		}
		stable, stop := context.WithTimeout(ctx, stableFor) // a state that is reached late may last, too
		err = a.run.Await(stable, "another state", a.hasLeft)
		stop()
		if err != nil { // nothing changed
			return nil
		}
	}
}

// hasEnded reports whether the run has reached the end state of its reference.
func (a *attempt) hasEnded(v history.View) (bool, string) {
	digest := v.Digest(a.Scenario.Operator.Rules.Status)
	return digest == a.reference.Digest, digest
}

// hasLeft reports whether the state differs from the reference's. It does not compare with the state at the moment of the call, as
// the end state may have been left just before.
func (a *attempt) hasLeft(v history.View) (bool, string) {
	hasEnded, digest := a.hasEnded(v)
	return !hasEnded, digest
}

// judge returns the violations that all oracles find.
func (s *Stage) judge(a *attempt, failure error) (found []oracle.Violation) {
	add := func(oracleName, text string) { found = append(found, oracle.Violation{Oracle: oracleName, Text: text}) }
	if failure != nil {
		add("O4", failure.Error())
	}
	a.mu.Lock()
	for _, err := range a.failed {
		add("O3", err.Error())
	}
	a.mu.Unlock()
	for _, text := range a.worker.trouble() {
		add("O3", text)
	}
	if err := s.recorder.Err(); err != nil {
		add("rig", "the record may lack versions: "+err.Error())
	}
	if a.reference.Digest == "" {
		return found
	}
	notice := usualNotice + a.act.notice
	if s.options.Busy {
		notice += busyNotice
	}
	found = append(found, oracle.Judge(a.Scenario.Operator.Rules, a.run, a.track.Journal(), a.reference.Reference, oracle.Limits{
		Writes: a.act.writes, Notice: notice, Paths: a.Scenario.Paths})...)
	if a.act.isBlind {
		for _, e := range a.createdTwice() {
			add("O2", fmt.Sprintf("write %d creates %s %s, which exists", e.Number, e.Resource, e.Name))
		}
	}
	return found
}

// createdTwice returns the creations of what existed already for the same job, except of what the operator never observes.
func (a *attempt) createdTwice() (found []proxy.Entry) {
	for _, e := range a.track.Journal() {
		if e.Verb != "create" || e.Resource == "events" || e.Code != http.StatusConflict || e.Fault != "" ||
			slices.ContainsFunc(a.Scenario.Operator.Unwatched, func(r schema.GroupVersionResource) bool { return r.Resource == e.Resource }) {
			continue
		}
		existed := false
		for _, v := range a.run.Versions() {
			if v.Object.GetName() == e.Name && v.Object.GetNamespace() == e.Namespace && v.Resource.Resource == e.Resource && v.At.Before(e.Began) {
				owner := string(a.Scenario.Operator.Rules.Owner(v.Object))
				existed = v.Type != watch.Deleted && owner != "" && strings.Contains(string(e.Request.Body), owner)
			}
		}
		if existed {
			found = append(found, e)
		}
	}
	return found
}

const clock = "15:04:05.000"

// evidence writes all that is known of a failed attempt to a file, and returns its name: violations, requests and versions.
func (s *Stage) evidence(a *attempt, r Result) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s in %s, log %s\n\n", a.Name(), a.actor.Job, a.actor.Namespace, a.worker.log())
	for _, v := range r.Violations {
		fmt.Fprintf(&out, "%s\n", v)
	}
	out.WriteString("\nrequests\n")
	for _, e := range a.track.Journal() {
		fmt.Fprintf(&out, "  %s %3d %-7s %s/%s %s -> %d %s %.600s\n", e.Began.Format(clock), e.Number, e.Verb, e.Resource, e.Subresource, e.Name, e.Code, e.Fault, e.Request.Body)
	}
	out.WriteString("\nversions\n")
	for _, v := range a.run.Versions() {
		object, err := json.Marshal(v.Object)
		if err != nil {
			object = []byte(err.Error())
		}
		fmt.Fprintf(&out, "  %s %-8s %s\n", v.At.Format(clock), v.Type, object)
	}
	s.mu.Lock()
	s.files++
	file := filepath.Join(s.options.Dir, fmt.Sprintf("failure-%03d.txt", s.files))
	s.mu.Unlock()
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		return "cannot be written: " + err.Error()
	}
	return file
}
