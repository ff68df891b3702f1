package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stoic/test/faults/cases"
	"stoic/test/faults/oracle"
)

// tally is the result of a run.
type tally struct {
	began              time.Time
	rows               []row
	failures           int
	texts              []string
	real               int                   // cases on real API servers that struck
	chosen             int                   // cases that were chosen
	asked              int                   // cases that the command line selects, in any part
	faults             map[cases.Goal]string // of each goal the fault of one of its cases
	faulted, reference []time.Duration       // canaries
	isBusy             bool                  // the machine may have other work: canaries are not judged
}

type row struct {
	goal                            cases.Goal
	what                            string
	possible, tried, missed, failed int
	took                            time.Duration
	settled                         []time.Duration
	more                            string
}

// add adds the results of one goal, to its row if it already has one. possible is the number of cases that were not counted
// before.
func (t *tally) add(goal cases.Goal, possible int, results []cases.Result, took time.Duration) {
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.goal == goal })
	if i < 0 {
		i = len(t.rows)
		t.rows = append(t.rows, row{goal: goal, what: cases.What(goal)})
	}
	t.rows[i].possible += possible
	t.rows[i].took += took
	t.merge(goal, results)
}

// merge adds results to the row of their goal.
func (t *tally) merge(goal cases.Goal, results []cases.Result) {
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.goal == goal })
	if i < 0 {
		return
	}
	r := &t.rows[i]
	for _, result := range results {
		r.tried++
		switch {
		case len(result.Violations) > 0:
			r.failed++
			t.failures++
			t.texts = append(t.texts, fmt.Sprintf("%s\n%s    evidence: %s", result.Case.Name(), violations(result.Violations), result.Evidence))
		case result.Missed:
			r.missed++
		}
		if !result.Missed {
			t.real++
			r.settled = append(r.settled, result.Settled)
		}
		switch {
		case result.Canary > 0 && goal == "G0" && result.Case.Fault() == cases.Fair:
			t.reference = append(t.reference, result.Canary)
		case result.Canary > 0 && goal != "G0":
			t.faulted = append(t.faulted, result.Canary)
		}
	}
}

func violations(all []oracle.Violation) string {
	var out strings.Builder
	for _, v := range all {
		fmt.Fprintf(&out, "    %s: %s\n", v.Oracle, strings.ReplaceAll(strings.TrimSpace(v.Text), "\n", "\n      "))
	}
	return out.String()
}

// addFailure records a failure that belongs to no plan.
func (t *tally) addFailure(text string) {
	t.failures++
	t.texts = append(t.texts, text)
}

// failMissed fails each goal whose cases all missed: no fault struck, so what passed proves nothing. For every goal most faults
// strike, even in the sample.
func (t *tally) failMissed() {
	for _, r := range t.rows {
		if r.tried > 0 && r.missed == r.tried {
			t.addFailure(fmt.Sprintf("%s: each of %d cases missed: no fault struck", r.goal, r.tried))
		}
	}
}

// meets records a case that exists, whether it is selected or not.
func (t *tally) meets(o options, p cases.Case) {
	if t.faults == nil {
		t.faults = map[cases.Goal]string{}
	}
	t.faults[p.Goal] = cmp.Or(t.faults[p.Goal], p.Fault())
	if o.asks(p) {
		t.asked++
	}
}

// checkTried returns an error if nothing was tried, which proves nothing. A single part may have none of the selected cases.
func (t *tally) checkTried(o options) error {
	asked, tried := t.asked, 0
	for _, p := range processes(o) {
		if o.asksProcess(p) {
			asked++
		}
	}
	for _, r := range t.rows {
		if r.goal != "G0" {
			tried += r.tried
		}
	}
	switch {
	case asked == 0 && o.fault != "" && len(t.faults) > 0:
		return fmt.Errorf("no case has -fault %q in its fault; some that there are: %q", o.fault, slices.Sorted(maps.Values(t.faults)))
	case asked == 0:
		return errors.New("there is no such case")
	case tried == 0 && !o.list && o.part.of <= 1:
		return errors.New("nothing was tried")
	}
	return nil
}

// process runs the test of a goal that has its own process.
func (t *tally) process(ctx context.Context, g process, o options, say func(string, ...any)) {
	say("%s: %s", g.goal, strings.Join(g.words, " "))
	began := time.Now()
	log, err := os.Create(filepath.Join(o.dir, string(g.goal)+".log"))
	if err != nil {
		t.addFailure(fmt.Sprintf("%s: %v", g.goal, err))
		return
	}
	defer log.Close()
	watch := &summaries{out: log, mark: g.summary, say: func(line string) { say("%s: %s", g.goal, line) }}
	cmd := exec.CommandContext(ctx, g.words[0], g.words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = o.root, watch, watch
	cmd.Env = append(os.Environ(), "GOGC=400") // these tests make much garbage and little else; memory is not short
	cmd.WaitDelay = time.Minute
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err = cmd.Run()
	r := row{goal: g.goal, what: g.what, took: time.Since(began), more: watch.last, tried: watch.number, possible: watch.number}
	if err == nil && watch.number == 0 {
		err = fmt.Errorf("it does not say how many %s it tried", g.summary) // as of a test that is not there
	}
	if err != nil {
		r.failed = 1
		t.addFailure(fmt.Sprintf("%s: %v\n    evidence: %s", g.goal, err, log.Name()))
	}
	if g.isReal {
		t.real += r.tried
	}
	t.rows = append(t.rows, r)
}

// canaries compares healthy jobs that run during faults with healthy jobs that run without, in the same run (O8).
func (t *tally) canaries(out io.Writer) {
	if len(t.faulted) == 0 || len(t.reference) == 0 {
		return
	}
	faulted, reference := oracle.Quantile(t.faulted, 0.5), oracle.Quantile(t.reference, 0.5)
	fmt.Fprintf(out, "canary jobs ran after %v during faults, after %v without (medians of %d and %d)\n",
		faulted.Round(time.Millisecond), reference.Round(time.Millisecond), len(t.faulted), len(t.reference))
	if !t.isBusy && oracle.Slower(t.reference, t.faulted) {
		t.addFailure("O8: healthy jobs during faults are slower")
	}
}

// print writes the table.
func (t *tally) print(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "GOAL\tWHAT IS TRIED\tPOSSIBLE\tTRIED\tMISSED\tFAILED\tTIME\tSETTLED AFTER\t")
	slices.SortStableFunc(t.rows, func(a, b row) int { return cmp.Compare(number(a.goal), number(b.goal)) })
	for _, r := range t.rows {
		settled := "-"
		if len(r.settled) > 0 {
			settled = oracle.Quantile(r.settled, 0.5).Round(10 * time.Millisecond).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%v\t%s\t%s\n", r.goal, r.what, r.possible, r.tried, r.missed, r.failed, r.took.Round(time.Second), settled, r.more)
	}
	w.Flush()
	fmt.Fprintln(out)
	t.canaries(out)
	fmt.Fprintf(out, "%d cases on real API servers in %v, %d failures\n", t.real, time.Since(t.began).Round(time.Second), t.failures)
	for _, text := range t.texts {
		fmt.Fprintf(out, "\nFAILED %s\n", text)
	}
}

func number(g cases.Goal) int {
	n := 0
	_, _ = fmt.Sscanf(string(g), "G%d", &n)
	return n
}
