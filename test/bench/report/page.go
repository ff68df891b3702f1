package report

import (
	"fmt"
	"os"
	"strings"
)

// pageBegin returns the first of the two markers around the tables on a page. It says how they are made: from which file, with
// the plots in which folder.
func pageBegin(file, plots, page string) string {
	return fmt.Sprintf("<!-- measured: made by go run ./test/bench -plots %s -o %s -page %s -->\n", file, plots, page)
}

const pageEnd = "<!-- end of measured -->"

// Markdown describes what was measured where, with a table for each workload.
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

// took describes how long a workload took, including start and end of the control planes, and its run if that is another.
func (r *Report) took(workload string, size int) string {
	var parts []string
	measured := ""
	for i := range r.Results {
		if f := &r.Results[i]; f.Workload == workload && f.Size == size {
			parts = append(parts, fmt.Sprintf("%s %.0f s", f.Subject, f.Seconds))
			measured = f.Measured
		}
	}
	if measured != "" {
		measured = " Measured " + measured + "."
	}
	return "Took: " + strings.Join(parts, ", ") + "." + measured
}

// OnPage replaces the tables between the marker begin and the next end marker.
func (r *Report) OnPage(page, begin string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, pageEnd)
	if !found || !closed {
		return "", fmt.Errorf("the page has no place for the tables: %s... %s", begin, pageEnd)
	}
	return before + begin + r.Markdown() + pageEnd + after, nil
}

// WritePage does this in a file, whose marker names the report's file and the folder of the plots as they are given here.
func (r *Report) WritePage(file, report, plots string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	page, err := r.OnPage(string(text), pageBegin(report, plots, file))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
