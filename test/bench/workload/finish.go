package workload

import (
	"bufio"
	"context"
	"strconv"
	"strings"
	"time"

	"stoic/test/bench/measure"
	"stoic/test/bench/report"
)

const kilobyte, megabyte = 1e3, 1e6

// finish adds to the result what the subject has cost since begin, for so many jobs. It does so even if the workload failed.
func (s *session) finish(ctx context.Context, jobs int) error {
	if _, err := s.audit.Update(); err != nil {
		return err
	}
	r := s.result
	r.Requests = s.audit.Counts()
	r.Pods = s.watch.peak()
	total := measure.Sum(r.Requests)
	per := func(n int) float64 { return float64(n) / float64(max(jobs, 1)) }
	r.Set(report.Writes, per(total.Writes))
	r.Set(report.Events, per(total.Events))
	r.Set(report.Conflicts, float64(total.Conflicts))
	r.Set(report.Gets, float64(total.Gets))
	r.Set(report.Rate, s.audit.CreationRate())
	if text, err := s.process.Metrics(ctx); err == nil {
		if lost, known := dropped(text); known {
			r.Set(report.Dropped, lost)
		}
	}
	s.latencies()
	f, err := s.process.Footprint()
	if err != nil {
		return err
	}
	used := float64(f.CPU-s.before.CPU) / float64(time.Millisecond)
	r.Set(report.CPU, used/float64(max(jobs, 1)))
	if r.Pods > 0 {
		r.Set(report.CPUPerPod, used/float64(r.Pods))
	}
	r.Set(report.Peak, float64(f.Peak)/megabyte)
	r.Set(report.PeakPerJob, float64(f.Peak-s.before.Resident)/kilobyte/float64(max(jobs, 1)))
	return nil
}

func (s *session) latencies() {
	r := s.result
	r.SetLatency(report.WaitCreated, s.watch.times(func(v *sight) time.Time { return v.made }))
	r.SetLatency(report.WaitRunning, s.watch.times(func(v *sight) time.Time { return v.running }))
	ended := s.watch.times(func(v *sight) time.Time { return v.ended })
	r.SetLatency(report.WaitEnded, ended)
	if len(ended) > 0 {
		r.Set(report.Unseen, float64(s.watch.unseen()))
	}
}

// dropped returns the events that Stoic reports as dropped for good, without postponed ones; other operators do not report this.
func dropped(metrics string) (lost float64, known bool) {
	for lines := bufio.NewScanner(strings.NewReader(metrics)); lines.Scan(); {
		line := lines.Text()
		if !strings.HasPrefix(line, "training_operator_events_total{") {
			continue
		}
		known = true
		for _, result := range []string{"refused", "late", "dropped"} {
			if strings.Contains(line, `result="`+result+`"`) {
				value, _ := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64) // Prometheus writes numbers
				lost += value
			}
		}
	}
	return lost, known
}
