package main

import (
	"fmt"
	"strconv"
	"strings"
)

// The measures, by their names in the table.
const (
	writes     = "writes per job"
	events     = "events per job"
	conflicts  = "answers 409"
	gets       = "GETs"
	cpu        = "CPU per job, ms"
	peak       = "peak RSS, MB"
	atRest     = "RSS at rest, MB"
	idle       = "idle CPU, % of a core"
	restart    = "start to first new pod, s"
	rate       = "creates per second"
	unseen     = "jobs never seen Running"
	createdP50 = "all pods created p50, s"
	createdP99 = "all pods created p99, s"
)

// shown lists the measures in the order of the table.
var shown = []string{writes, events, conflicts, gets, cpu, peak, atRest, idle, restart, rate, unseen, createdP50, createdP99}

// result is what one subject cost in one workload.
type result struct {
	workload string
	size     int
	subject  string
	values   map[string]float64
	err      error // why the workload did not come to its end
}

// budget is the bound of a measure of Stoic, as docs/performance.md promises it. The bound of a rate is its least value.
type budget struct {
	workload, measure string
	bound             float64
	isRelative        bool // the bound is a multiple of what the bare client needs
}

var budgets = []budget{
	{"jobs", writes, 13, false},
	{"jobs", events, 4, false},
	{"jobs", conflicts, 0, false},
	{"jobs", gets, 0, false},
	{"jobs", cpu, 12, false},
	{"jobs", peak, 80, false},
	{"jobs", unseen, 0, false},
	{"wide", rate, 0.8, true},
	{"rejected", writes, 13, false},
	{"rejected", createdP50, 1.3, true},
}

// judge returns the bound of a measure of Stoic as text, and whether it is kept. Without a bound everything is kept.
func judge(workload, measure string, value, least float64) (text string, isKept bool) {
	for _, b := range budgets {
		if b.workload != workload || b.measure != measure {
			continue
		}
		bound := b.bound
		if b.isRelative {
			bound *= least
		}
		isKept := value <= bound
		if measure == rate {
			isKept = value >= bound
		}
		if !isKept {
			return number(bound) + " MISSED", false
		}
		return number(bound), true
	}
	return "", true
}

// format returns a page with the table and the picture, and whether Stoic has kept its budgets.
func format(results []result) (page string, isKept bool) {
	isKept = true
	find := func(workload string, size int, subject string) map[string]float64 {
		for _, r := range results {
			if r.workload == workload && r.size == size && r.subject == subject {
				return r.values
			}
		}
		return nil
	}
	var table strings.Builder
	table.WriteString("| workload | measure | bare client | Stoic | ratio | other | budget |\n|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.err != nil {
			fmt.Fprintf(&table, "| %s %d | FAILED | %s: %v |\n", r.workload, r.size, r.subject, r.err)
			isKept = false
		}
		if r.subject != stoicName {
			continue
		}
		limit := find(r.workload, r.size, bareClientName)
		other := find(r.workload, r.size, otherName)
		for _, measure := range shown {
			value, isKnown := r.values[measure]
			if !isKnown {
				continue
			}
			ratio := ""
			if limit[measure] > 0 {
				ratio = number(value / limit[measure])
			}
			bound, isMet := judge(r.workload, measure, value, limit[measure])
			isKept = isKept && isMet
			fmt.Fprintf(&table, "| %s %d | %s | %s | %s | %s | %s | %s |\n", r.workload, r.size, measure,
				cell(limit, measure), number(value), ratio, cell(other, measure), bound)
		}
	}
	return table.String() + picture(results), isKept
}

// picture returns a chart of Mermaid: the CPU time of each subject for each of the jobs that were created together.
func picture(results []result) string {
	var names, bars []string
	for _, r := range results {
		if r.workload == "jobs" && r.err == nil {
			names = append(names, strconv.Quote(fmt.Sprint(r.subject, " ", r.size)))
			bars = append(bars, number(r.values[cpu]))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("\n```mermaid\nxychart-beta\n    title %q\n    x-axis [%s]\n    bar [%s]\n```\n", cpu, strings.Join(names, ", "), strings.Join(bars, ", "))
}

func cell(values map[string]float64, measure string) string {
	value, isKnown := values[measure]
	if !isKnown {
		return ""
	}
	return number(value)
}

// number formats a number with about three significant digits, never with an exponent.
func number(v float64) string {
	digits := 2
	if v >= 100 || v == float64(int64(v)) {
		digits = 0
	} else if v < 0.1 {
		digits = 4
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
