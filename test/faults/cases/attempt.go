package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
	"stoic/test/faults/scenario"
	"stoic/test/operator"
)

const (
	// longestRun bounds the user's part of a scenario under a fault, including back-offs and pauses.
	longestRun = 10 * time.Minute
	// stableFor is how long an end state must last.
	stableFor = 1500 * time.Millisecond
	// mostResident and mostFiles bound what an operator of one namespace with a few jobs may hold, however many cases it has run
	// through.
	mostResident = 256 << 20
	mostFiles    = 256
	// usualPatience bounds the time from the last fault to the end state. It is far above what the operator needs, since dozens of
	// sandboxes share two cores, which may have other work.
	usualPatience = time.Minute
	// usualNotice allows for the delays of watches and of the machine. busyNotice is added on a machine that has other work.
	usualNotice = 2 * time.Second
	busyNotice  = 30 * time.Second
)

// try tries a case in a sandbox and judges it.
func (s *Stage) try(ctx context.Context, c Case, w *worker) Result {
	began := time.Now()
	result := Result{Case: c}
	a, err := s.attempt(c, w)
	if err != nil {
		result.Violations = []oracle.Violation{{Oracle: "O3", Text: err.Error()}}
	} else {
		err = s.run(ctx, a, &result)
		result.Missed = err == nil && !a.hasStruck()
		result.Violations = s.judge(a, err)
	}
	if len(result.Violations) > 0 && ctx.Err() == nil {
		result.Evidence = s.evidence(a, result, time.Since(began))
	}
	s.clear(a)
	return result
}

// attempt prepares all that a case needs, with the operator running.
func (s *Stage) attempt(c Case, w *worker) (*Attempt, error) {
	job := s.name()
	a := &Attempt{
		Case: c, worker: w, sandbox: w.sandbox, began: time.Now(), track: w.sandbox.Proxy.Follow(job), run: s.recorder.RunOf(c.Scenario.Subject(w.places, job)),
		lists: len(w.sandbox.Proxy.Lists()), failed: make(chan error, 8),
	}
	a.reference, _ = s.reference(c.Scenario.Name)
	a.actor = scenario.Actor{Client: s.admin, Namespace: w.places.Namespace, Job: job, Run: a.run}
	_, w.logged = w.sandbox.Trouble(w.logged)
	w.sandbox.Unexpected() // of the time before
	if err := w.sandbox.Serve(c.Scenario.Flags); err != nil {
		return a, err
	}
	a.inject()
	w.sandbox.Proxy.Streams().DropBookmarks(c.act.noBookmarks)
	return a, nil
}

// run takes the scenario to its end state.
func (s *Stage) run(ctx context.Context, a *Attempt, result *Result) error {
	running, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	if a.act.liftAfter > 0 {
		go func() {
			hasFired := func() (bool, string) { times, _ := a.track.Fired(); return times > 0, "" }
			if _, err := operator.Until(running, "the fault", hasFired); err == nil && pass(running, a.act.liftAfter) == nil {
				a.track.Lift()
			}
		}()
	}
	if err := a.scenarioWith().Run(running, a.actor); err != nil {
		return fmt.Errorf("run the scenario: %w", err)
	}
	if a.act.do != nil && a.point.isEnd() {
		if err := a.act.do(running, a, a.point); err != nil {
			return fmt.Errorf("after the user's part: %w", err)
		}
	}
	a.pending.Wait()
	a.track.Lift()
	lifted := time.Now()
	if _, last := a.track.Fired(); last.After(lifted) {
		lifted = last
	}
	err := s.settle(ctx, a)
	result.Settled = time.Since(lifted)
	return err
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

// errUnstable is returned for an operator that never comes to rest: at the moment of the judgement its state may be the right one.
var errUnstable = errors.New("the end state does not stay")

// settle waits for the reference's end state, and until it has lasted.
func (s *Stage) settle(ctx context.Context, a *Attempt) error {
	waiting, cancel := context.WithTimeout(ctx, cmp.Or(a.act.excuse.patience, usualPatience))
	defer cancel()
	if slices.Contains(a.act.excuse.oracles, "O1") || a.reference.Digest == "" {
		return a.run.Quiet(waiting, 2*stableFor)
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
		if waiting.Err() != nil {
			return errUnstable
		}
	}
}

// hasEnded reports whether the run has reached the end state of its reference.
func (a *Attempt) hasEnded(v history.View) (bool, string) {
	digest := v.Digest(a.Scenario.Operator.Rules.Status)
	return digest == a.reference.Digest, digest
}

// hasLeft reports whether the state differs from the reference's. It does not compare with the state at the moment of the call, as
// the end state may have been left just before.
func (a *Attempt) hasLeft(v history.View) (bool, string) {
	hasEnded, digest := a.hasEnded(v)
	return !hasEnded, digest
}

// judge returns the violations that all oracles find.
func (s *Stage) judge(a *Attempt, failure error) (found []oracle.Violation) {
	add := func(oracleName, format string, values ...any) {
		found = append(found, oracle.Violation{Oracle: oracleName, Text: fmt.Sprintf(format, values...)})
	}
	if failure != nil && !errors.Is(failure, context.Canceled) {
		add("O4", "%v", failure)
	}
	for len(a.failed) > 0 {
		add("rig", "%v", <-a.failed)
	}
	for _, text := range a.sandbox.Unexpected() {
		add("O3", "%s", text)
	}
	if resident, files := a.sandbox.Memory(); resident > mostResident || files > mostFiles {
		add("O7", "the operator holds %d MiB and %d open files, at most %d and %d", resident>>20, files, mostResident>>20, mostFiles)
	}
	lines, to := a.sandbox.Trouble(a.worker.logged)
	a.worker.logged = to
	for _, line := range lines {
		add("O3", "%s", line)
	}
	found = append(found, oracle.Elsewhere(a.sandbox.Proxy.Unclaimed())...)
	for _, g := range a.run.Gaps() {
		if g.At.After(a.began) { // what was missed before concerns other runs
			add("rig", "the record of %s may lack versions at %s: %s", g.Resource.Resource, g.At.Format(clock), g.Why)
		}
	}
	if a.reference.Digest != "" || failure == nil {
		lists := a.sandbox.Proxy.Lists()
		found = append(found, oracle.Judge(a.Scenario.Operator.Rules, a.run, a.track.Journal(), lists[min(a.lists, len(lists)):], a.reference.Reference, s.limits(a))...)
	}
	if a.act.check != nil && failure == nil {
		found = append(found, a.act.check(a)...)
	}
	return slices.DeleteFunc(found, func(v oracle.Violation) bool { return slices.Contains(a.act.excuse.oracles, v.Oracle) })
}

// limits returns the limits of an attempt: what the reference needed, what the faults may add, and an allowance for status writes
// that the reference coalesced.
func (s *Stage) limits(a *Attempt) oracle.Limits {
	excused := a.act.excuse
	notice := usualNotice + excused.notice
	if s.options.Busy {
		notice += busyNotice
	}
	return oracle.Limits{
		Writes: a.Scenario.Operator.Rules.Writes(a.reference.Writes) + excused.writes, Events: 3*a.reference.Events + 10, Pods: excused.pods,
		Notice: notice, Edited: excused.edited, Paths: a.Scenario.Paths, Recreated: a.recreated,
	}
}

const clock = "15:04:05.000"

// evidence writes all that is known of a failed attempt to a file, and returns its name: violations, requests and versions.
func (s *Stage) evidence(a *Attempt, r Result, took time.Duration) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n%s in %s, %v, log %s\n\n", a.Name(), a.actor.Job, a.actor.Namespace, took, a.sandbox.Log())
	for _, v := range r.Violations {
		fmt.Fprintf(&out, "%s: %s\n", v.Oracle, v.Text)
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
