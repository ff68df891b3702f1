package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// The verdicts on a row.
const (
	Kept   = "kept"
	Missed = "MISSED"
	// Unknown: the budget's measure, or its reference, was not measured.
	Unknown = "not measured"
)

// Row of a table: one measure of one workload at one size.
type Row struct {
	Workload            string
	Size                int
	Measure             string
	Limit, Stoic, Other string
	Ratio               string // Stoic's to the limit's
	Budget, Verdict     string
}

// shown returns the measures in tables, in this order; others are in the JSON. A workload that is listed shows only its own.
func shown(workload string) []string {
	usual := []string{Writes, Events, Dropped, Conflicts, Gets, CPU, Peak}
	switch workload {
	case "stored":
		return []string{Ready, Restart, IdleCPU, Memory, Writes}
	case "wide":
		return []string{Rate, CPUPerPod, Peak, CreatedP50, RunningP50, Conflicts, Gets}
	case "rejected":
		return []string{RunningP50, RunningP99, EndedP99, Restart, CPU, Peak}
	case "latency":
		return []string{CreatedP50, RunningP50, RunningP99, EndedP99}
	case "death":
		return []string{DeathP99, Writes, CPU, Peak}
	case "churn":
		return append(usual, Growth, CreatedP50, RunningP99)
	case "restarts":
		return append(usual, EndedP99)
	}
	return append(usual, PeakPerJob, Unseen, Throughput, CreatedP50, RunningP50, RunningP99, EndedP99)
}

// Rows returns the rows of the report, and whether every budget of the tried workloads is kept.
func (r *Report) Rows() (rows []Row, kept bool) {
	kept = true
	for i := range r.Results {
		mine := &r.Results[i]
		if mine.Subject != Stoic {
			continue
		}
		limit, other := r.Find(mine.Workload, mine.Size, Limit), r.Find(mine.Workload, mine.Size, Other)
		for _, measure := range shown(mine.Workload) {
			row := Row{Workload: mine.Workload, Size: mine.Size, Measure: measure, Limit: cell(limit, measure), Stoic: cell(mine, measure),
				Other: cell(other, measure), Ratio: ratio(mine, limit, measure)}
			for _, b := range Budgets() {
				if b.Workload == mine.Workload && b.Measure == measure && (b.Size == 0 || b.Size == mine.Size) && !(b.Against == OfSmallest && mine == r.smallest(mine.Workload, Stoic)) {
					row.add(b, r, mine)
				}
			}
			kept = kept && !strings.Contains(row.Verdict, Missed) && !strings.Contains(row.Verdict, Unknown)
			if row.Stoic != "" || row.Budget != "" {
				rows = append(rows, row)
			}
		}
		if mine.Failed != "" {
			kept = false
			rows = append(rows, Row{Workload: mine.Workload, Size: mine.Size, Measure: "end", Stoic: "FAILED", Verdict: Missed})
		}
	}
	return rows, kept
}

func (row *Row) add(b Budget, r *Report, mine *Result) {
	verdict := Unknown
	if is, known := b.judge(r, mine); known && is {
		verdict = Kept
	} else if known {
		verdict = Missed
	}
	if row.Budget != "" {
		row.Budget, row.Verdict = row.Budget+", ", row.Verdict+", "
	}
	row.Budget += b.String()
	row.Verdict += verdict
}

func cell(r *Result, measure string) string {
	if r == nil {
		return ""
	}
	value, known := r.Value(measure)
	switch {
	case known && r.Failed != "":
		return number(value) + " (failed)"
	case known:
		return number(value)
	case r.Failed != "":
		return "failed"
	}
	return ""
}

func ratio(mine, limit *Result, measure string) string {
	m, known := valueOf(mine, measure)
	l, both := valueOf(limit, measure)
	if !known || !both || l == 0 {
		return ""
	}
	return strconv.FormatFloat(m/l, 'f', 2, 64)
}

// number formats a number with three significant digits, never with an exponent.
func number(v float64) string {
	switch size := max(v, -v); {
	case v == float64(int64(v)):
		return strconv.FormatInt(int64(v), 10)
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

func (r *Report) columns() []string {
	columns := []string{"workload", "measure", "limit", "Stoic", "ratio"}
	if slices.ContainsFunc(r.Results, func(f Result) bool { return f.Subject == Other }) {
		columns = append(columns, "other")
	}
	return append(columns, "budget", "verdict")
}

func (row Row) cells(columns []string) []string {
	all := map[string]string{"workload": fmt.Sprintf("%s %d", row.Workload, row.Size), "measure": row.Measure, "limit": row.Limit,
		"Stoic": row.Stoic, "ratio": row.Ratio, "other": row.Other, "budget": row.Budget, "verdict": row.Verdict}
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = all[c]
	}
	return cells
}

// Print prints the table for a terminal.
func (r *Report) Print(out io.Writer) error {
	rows, _ := r.Rows()
	columns := r.columns()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row.cells(columns), "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	for i := range r.Results {
		if f := &r.Results[i]; f.Failed != "" {
			fmt.Fprintf(out, "FAILED %s %d, %s: %s\n", f.Workload, f.Size, f.Subject, f.Failed)
		}
	}
	return nil
}
