package operator

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Footprint is what a process has used so far.
type Footprint struct {
	CPU time.Duration // user and system
	// Resident memory in bytes: now, and at most so far.
	Resident, Peak int64
	Files          int // open ones; 0 if they may not be read
}

// tick is the unit of times in /proc on every relevant Linux (USER_HZ).
const tick = 10 * time.Millisecond

// footprintOf returns the footprint of a running process. It needs Linux.
func footprintOf(pid int) (Footprint, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Footprint{}, fmt.Errorf("look at the process: %w", err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Footprint{}, fmt.Errorf("look at the process: %w", err)
	}
	f, err := parseFootprint(stat, status)
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	f.Files = len(open)
	return f, err
}

func parseFootprint(stat, status []byte) (f Footprint, err error) {
	if f.CPU, err = cpuTime(stat); err != nil {
		return f, err
	}
	for line := range bytes.Lines(status) {
		name, value, _ := strings.Cut(string(line), ":")
		words := strings.Fields(value)
		if len(words) == 0 {
			continue
		}
		number, _ := strconv.ParseInt(words[0], 10, 64) // a line that is no number is none of these
		switch name {
		case "VmRSS":
			f.Resident = number << 10
		case "VmHWM":
			f.Peak = number << 10
		}
	}
	return f, nil
}

// cpuTime returns the user and system time of a process.
func cpuTime(stat []byte) (sum time.Duration, err error) {
	// The second field is the program's name in parentheses and may hold anything.
	_, after, found := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	fields := strings.Fields(string(after))
	if !found || len(fields) < 15 {
		return 0, fmt.Errorf("the process says of itself: %q", stat)
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of the process: %w", err)
		}
		sum += time.Duration(ticks) * tick
	}
	return sum, nil
}
