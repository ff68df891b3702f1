package report

import (
	"fmt"
	"os"
	"strings"
)

// The markers between which a page has the tables.
const (
	pageBegin = "<!-- measured: made by go run ./test/bench -plots docs/performance/bench.json -o docs/performance -page docs/performance.md -->\n"
	pageEnd   = "<!-- end of measured -->"
)

// Markdown says what was measured where, in a table for each workload.
func (r *Report) Markdown() string {
	var text strings.Builder
	m := r.Machine
	fmt.Fprintf(&text, "\nMeasured on %s with `%s`: Stoic %s, Kubernetes %s, %s; %d cores of %s, %v GiB, %s; load %.1f before and %.1f at the end, others used up to %.2f cores; %.0f minutes.\n",
		r.Date.Format("2006-01-02"), r.Command, r.Versions.Stoic, r.Versions.Kubernetes, r.Versions.Go, m.Cores, m.Processor, m.MemoryGiB, m.System,
		m.LoadStart, m.LoadEnd, m.Neighbours, r.Seconds/60)
	if m.Busy {
		text.WriteString("\n**The machine was busy with other things**: times, rates and CPU are no clean numbers, nor are verdicts on them; counts are.\n")
	}
	if r.Scale != 1 {
		fmt.Fprintf(&text, "\nThe sizes were %v of those that the tables name.\n", r.Scale)
	}
	rows, _ := r.Rows()
	columns := r.columns()[1:]
	last := ""
	for _, row := range rows {
		if name := fmt.Sprint(row.Workload, " ", row.Size); name != last {
			last = name
			fmt.Fprintf(&text, "\n### %s\n\n%s\n\n| %s |\n|%s\n", name, r.took(row.Workload, row.Size), strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row.cells(columns), " | "))
	}
	text.WriteString("\n")
	return text.String()
}

// took says how long a workload took, start and end of the control planes included.
func (r *Report) took(workload string, size int) string {
	var parts []string
	for i := range r.Results {
		if f := &r.Results[i]; f.Workload == workload && f.Size == size {
			parts = append(parts, fmt.Sprintf("%s %.0f s", f.Subject, f.Seconds))
		}
	}
	return "Took: " + strings.Join(parts, ", ") + "."
}

// OnPage puts the tables between the markers of a page.
func (r *Report) OnPage(page string) (string, error) {
	before, rest, found := strings.Cut(page, pageBegin)
	_, after, closed := strings.Cut(rest, pageEnd)
	if !found || !closed {
		return "", fmt.Errorf("the page has no place for the tables: %s... %s", pageBegin, pageEnd)
	}
	return before + pageBegin + r.Markdown() + pageEnd + after, nil
}

// WritePage does so in a file.
func (r *Report) WritePage(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	page, err := r.OnPage(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
