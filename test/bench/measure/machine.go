package measure

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Neighbours measures how much CPU other processes use on the machine while we measure. It is exact once all that we have started
// has ended and been waited for.
type Neighbours struct {
	began       time.Time
	machine, us time.Duration
}

// WatchNeighbours starts from now. If the machine's times cannot be read, it finds no other processes.
func WatchNeighbours() Neighbours {
	n := Neighbours{began: time.Now()}
	n.machine, n.us = used()
	return n
}

// Cores returns how many cores others have used on average, or a hypervisor has withheld.
func (n Neighbours) Cores() float64 {
	machine, us := used()
	took := time.Since(n.began)
	if machine == 0 || took <= 0 {
		return 0
	}
	return max(float64(machine-n.machine-(us-n.us))/float64(took), 0)
}

// used returns the CPU time for which the machine was busy, and our own share of it; zeros if one is not known.
func used() (machine, us time.Duration) {
	all, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0
	}
	if machine, err = busy(all); err != nil {
		return 0, 0
	}
	if us, err = times(self, 4); err != nil {
		return 0, 0
	}
	return machine, us
}

// busy returns the busy time of all cores: user, nice, system, (idle, iowait,) irq, softirq, steal.
func busy(stat []byte) (sum time.Duration, err error) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("the machine says of itself: %q", line)
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of the machine: %w", err)
		}
		if i != 3 && i != 4 {
			sum += time.Duration(ticks) * tick
		}
	}
	return sum, nil
}

// LoadAverage returns the load of the machine over the last minute; 0 if it is not known.
func LoadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, _ := strconv.ParseFloat(first, 64) // unknown if it is not a number
	return load
}
