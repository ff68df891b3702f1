package main

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"

	"stoic/test/bench/measure"
	"stoic/test/bench/report"
)

// maxNeighbours is how many cores other processes may use before the times are not usable.
const maxNeighbours = 0.1

// machine describes the machine that we run on, as far as Linux reports it.
func machine() report.Machine {
	m := report.Machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, LoadStart: measure.LoadAverage()}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.Processor = field(text, "model name")
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		kib, _ := strconv.ParseFloat(strings.TrimSuffix(field(text, "MemTotal"), " kB"), 64) // 0 is unknown
		m.MemoryGiB = math.Round(kib / (1 << 20))
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += ", Linux " + strings.TrimSpace(string(text))
	}
	return m
}

// closing records the state at the end of the run.
func closing(r *report.Report) {
	m := &r.Machine
	m.LoadEnd = measure.LoadAverage()
	for i := range r.Results {
		m.Neighbours = max(m.Neighbours, r.Results[i].Neighbours)
	}
	m.Busy = m.Neighbours > maxNeighbours
}

func field(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if key, value, found := bytes.Cut(line, []byte(":")); found && string(bytes.TrimSpace(key)) == name {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}
