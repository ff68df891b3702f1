package report

import (
	"cmp"
	"fmt"
	"slices"

	"stoic/test/bench/plot"
)

// File is a chart and the name under which it is written.
type File struct {
	Name  string
	Chart plot.Chart
}

// Charts returns the charts of a report, without those of which nothing was measured.
func (r *Report) Charts() []File {
	size := func(f *Result) float64 { return float64(f.Ran) }
	pods := func(f *Result) float64 { return float64(f.Pods) }
	note := r.note()
	single, all := []string{"single", "growth"}, []string{"jobs", "single", "growth", "wide", "death"}
	files := []File{
		{"cpu-per-job.svg", plot.Chart{Title: "CPU per job of one worker, over number of jobs", Note: note, XName: "jobs", YName: "milliseconds", LogX: true,
			Lines: r.subjects(single, size, CPU)}},
		{"writes-per-job.svg", plot.Chart{Title: "Writes per job of one worker, over number of jobs", Note: note, XName: "jobs", YName: "writes, events left out", LogX: true,
			Lines: r.subjects(single, size, Writes)}},
		{"rss-over-pods.svg", plot.Chart{Title: "Peak memory over number of pods", Note: note, XName: "pods that exist at once", YName: "RSS, MB",
			Bound: 80, BoundName: "budget at 5,000", Lines: r.subjects(all, pods, Peak)}},
		{"rejected.svg", plot.Chart{Title: "Healthy jobs until Running, beside malformed objects", Note: note, XName: "malformed objects stored", YName: "seconds",
			Lines: append(r.lines([]string{"rejected"}, size, RunningP99, "p99"), r.lines([]string{"rejected"}, size, RunningP50, "p50")...)}},
	}
	return slices.DeleteFunc(files, func(f File) bool { return len(f.Chart.Lines) == 0 })
}

// note describes the run that the plot is from.
func (r *Report) note() string {
	text := fmt.Sprintf("%s, %d cores, %s", r.Date.Format("2006-01-02"), r.Machine.Cores, r.Versions.Stoic)
	if r.Scale != 1 {
		text += fmt.Sprintf(", sizes x %v", r.Scale)
	}
	if r.Machine.Busy {
		text += "; the machine was busy with other things: no clean numbers"
	}
	return text
}

func (r *Report) subjects(workloads []string, x func(*Result) float64, measure string) []plot.Line {
	return r.lines(workloads, x, measure, "")
}

// lines returns the lines of a measure, one for each subject that has any point.
func (r *Report) lines(workloads []string, x func(*Result) float64, measure, suffix string) (lines []plot.Line) {
	names := map[string]string{Limit: "bare client", Stoic: "Stoic", Other: "other operator"}
	for _, subject := range []string{Stoic, Limit, Other} {
		l := plot.Line{Name: names[subject]}
		if suffix != "" {
			l.Name += ", " + suffix
		}
		for i := range r.Results {
			f := &r.Results[i]
			value, known := valueOf(f, measure)
			if f.Subject == subject && known && slices.Contains(workloads, f.Workload) {
				l.Points = append(l.Points, plot.Point{X: x(f), Y: value})
			}
		}
		slices.SortFunc(l.Points, func(a, b plot.Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}
