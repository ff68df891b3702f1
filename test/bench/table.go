package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The measures, by their names in the table.
const (
	writes     = "writes per job"
	events     = "events per job"
	dropped    = "events dropped"
	conflicts  = "answers 409"
	gets       = "GETs"
	cpu        = "CPU per job, ms"
	cpuPerPod  = "CPU per pod, ms"
	peak       = "peak RSS, MB"
	growth     = "RSS grown since half time, MB"
	atRest     = "RSS at rest, MB"
	idle       = "idle CPU, % of a core"
	restart    = "start to first new pod, s"
	rate       = "creates per second"
	unseen     = "jobs never seen Running"
	createdP50 = "created p50, s"
	runningP50 = "Running p50, s"
	runningP99 = "Running p99, s"
)

// shown lists the measures in the order of the table.
var shown = []string{writes, events, dropped, conflicts, gets, cpu, cpuPerPod, peak, growth, atRest, idle, restart, rate, unseen, createdP50, runningP50, runningP99}

// result is what one subject cost in one workload.
type result struct {
	workload string
	size     int
	subject  string
	values   map[string]float64
	err      error // why the workload did not come to its end
}

// setQuantile sets a measure to the smallest of the times that so large a share of them does not exceed.
func (r *result) setQuantile(measure string, times []time.Duration, share float64) {
	if len(times) > 0 {
		slices.Sort(times)
		r.values[measure] = times[int(share*float64(len(times)-1)+0.5)].Seconds()
	}
}

// reference is what a budget is a multiple of.
type reference int

const (
	absolute   reference = iota
	ofLimit              // what the bare client needs
	ofSmallest           // what Stoic needs at the smallest size of the workload
)

// budget is the bound of a measure of Stoic, as docs/performance.md promises it. The bound of a rate is its least value.
type budget struct {
	workload, measure string
	bound             float64
	of                reference
}

func budgets() []budget {
	all := []budget{
		{"jobs", writes, 13, absolute},
		{"jobs", cpu, 12, absolute},
		{"jobs", peak, 80, absolute},
		{"wide", rate, 0.8, ofLimit},
		{"wide", cpuPerPod, 1.1, ofSmallest},
		{"latency", createdP50, 1.3, ofLimit},
		{"growth", writes, 1.02, ofSmallest},
		{"growth", cpu, 1.1, ofSmallest},
		{"growth", unseen, 0, absolute},
		{"rejected", runningP99, 1.1, ofSmallest},
		// Five pods and three statuses, and five services or, of an MPIJob, its four other objects.
		{"kinds", writes, 13, absolute},
		// Three objects, the Job of the launcher, four pods, three statuses, and the hosts that run, as these come.
		{"mpi-v2beta1", writes, 13, absolute},
	}
	for _, workload := range []string{"jobs", "kinds", "mpi-v2beta1"} {
		all = append(all, budget{workload, events, 4, absolute})
		for _, measure := range []string{dropped, conflicts, gets, unseen} {
			all = append(all, budget{workload, measure, 0, absolute})
		}
	}
	return all
}

// judge returns the bound of a budget in a result, and whether that is kept. Without a reference everything is kept.
func (b budget) judge(r, limit, smallest result) (bound float64, isKept bool) {
	bound = b.bound
	switch b.of {
	case ofLimit:
		bound *= limit.values[b.measure]
	case ofSmallest:
		bound *= smallest.values[b.measure]
	}
	if b.of != absolute && bound == 0 {
		return 0, true
	}
	value, isKnown := r.values[b.measure]
	if b.measure == rate {
		return bound, isKnown && value >= bound
	}
	return bound, isKnown && value <= bound
}

// format returns a page with the table and the picture, and whether Stoic has kept its budgets.
func format(results []result) (page string, isKept bool) {
	isKept = true
	find := func(workload string, size int, subject string) result {
		for _, r := range results {
			if r.workload == workload && (size < 0 || r.size == size) && r.subject == subject {
				return r
			}
		}
		return result{}
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
		smallest := find(r.workload, -1, stoicName)
		for _, measure := range shown {
			value, isKnown := r.values[measure]
			if !isKnown {
				continue
			}
			ratio := ""
			if least := limit.values[measure]; least > 0 {
				ratio = number(value / least)
			}
			verdict := ""
			for _, b := range budgets() {
				if b.workload != r.workload || b.measure != measure {
					continue
				}
				bound, isMet := b.judge(r, limit, smallest)
				verdict = number(bound)
				if !isMet {
					verdict += " MISSED"
					isKept = false
				}
			}
			fmt.Fprintf(&table, "| %s %d | %s | %s | %s | %s | %s | %s |\n", r.workload, r.size, measure, limit.cell(measure), number(value), ratio,
				find(r.workload, r.size, otherName).cell(measure), verdict)
		}
	}
	return table.String() + picture(results), isKept
}

// picture returns a chart of Mermaid: Stoic's CPU per job in each workload.
func picture(results []result) string {
	var names, bars []string
	for _, r := range results {
		if r.subject == stoicName && r.values[cpu] > 0 {
			names = append(names, strconv.Quote(fmt.Sprint(r.workload, " ", r.size)))
			bars = append(bars, number(r.values[cpu]))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("\n```mermaid\nxychart-beta\n    title %q\n    x-axis [%s]\n    bar [%s]\n```\n", "Stoic: "+cpu,
		strings.Join(names, ", "), strings.Join(bars, ", "))
}

func (r result) cell(measure string) string {
	value, isKnown := r.values[measure]
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
