package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"stoic/test/faults/cases"
	"stoic/test/faults/oracle"
)

// tally is the result of a run.
type tally struct {
	say      func(format string, values ...any)
	began    time.Time
	rows     map[cases.Goal]*row
	tried    int // without the references
	failures int
	texts    []string

	// what is shown of the progress
	operator       string
	all, done, bad int
	reported       time.Time
}

// row is the result of one goal.
type row struct {
	possible, tried, missed, failed int
	settled                         []time.Duration
}

func newTally(say func(string, ...any)) *tally {
	return &tally{say: say, began: time.Now(), rows: map[cases.Goal]*row{}}
}

func (t *tally) row(goal cases.Goal) *row {
	if t.rows[goal] == nil {
		t.rows[goal] = &row{}
	}
	return t.rows[goal]
}

// begin begins the cases of an operator: so many are tried, of so many of each goal.
func (t *tally) begin(operator string, chosen int, possible map[cases.Goal]int) {
	t.operator, t.all = operator, chosen
	t.done, t.bad = 0, 0
	for goal, n := range possible {
		t.row(goal).possible += n
	}
	t.say("%s: %d cases", operator, chosen)
}

// progress reports a failure at once, and every ten seconds how many cases are done.
func (t *tally) progress(r cases.Result) {
	t.done++
	if len(r.Violations) > 0 {
		t.bad++
		t.say("FAILED %s: %s (%s)", r.Case.Name(), r.Violations[0], r.Evidence)
	}
	if time.Since(t.reported) > 10*time.Second {
		t.reported = time.Now()
		t.say("%s: %d of %d, %d failed", t.operator, t.done, t.all, t.bad)
	}
}

// add adds results to the rows of their goals. A case whose fault did not strike does not count as passed.
func (t *tally) add(results []cases.Result) {
	for _, result := range results {
		r := t.row(result.Case.Goal)
		r.tried++
		if result.Case.Goal != "G0" {
			t.tried++
		}
		switch {
		case len(result.Violations) > 0:
			r.failed++
			t.addFailure(fmt.Sprintf("%s\n%s    evidence: %s", result.Case.Name(), violations(result.Violations), result.Evidence))
		case result.Missed:
			r.missed++
		default:
			r.settled = append(r.settled, result.Settled)
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

func (t *tally) addFailure(text string) {
	t.failures++
	t.texts = append(t.texts, text)
}

// several is how many cases of a goal may not all miss. The point of a single case may not occur: writes are sometimes coalesced.
const several = 4

// print writes the table. A goal whose cases all missed fails: no fault struck, so what passed proves nothing.
func (t *tally) print(out io.Writer) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "GOAL\tWHAT IS TRIED\tPOSSIBLE\tTRIED\tMISSED\tFAILED\tSETTLED AFTER")
	for _, goal := range append([]cases.Goal{"G0"}, cases.AllGoals()...) {
		r := t.rows[goal]
		if r == nil || r.tried == 0 {
			continue
		}
		if r.missed == r.tried && r.tried >= several {
			t.addFailure(fmt.Sprintf("%s: each of %d cases missed: no fault struck", goal, r.tried))
		}
		settled := oracle.Quantile(slices.Clone(r.settled), 0.5).Round(10 * time.Millisecond)
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%v\n", goal, cases.What(goal), r.possible, r.tried, r.missed, r.failed, settled)
	}
	_ = w.Flush() // out is a terminal or a log
	fmt.Fprintf(out, "\n%d cases on real API servers in %v, %d failures\n", t.tried, time.Since(t.began).Round(time.Second), t.failures)
	for _, text := range t.texts {
		fmt.Fprintf(out, "\nFAILED %s\n", text)
	}
}
