package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"stoic/test/bench/measure"
)

// Limit and Stoic are the subjects that every run has; there may be Other, the operator of the command line.
const (
	Limit = "limit"
	Stoic = "stoic"
	Other = "other"
)

// Report of one run.
type Report struct {
	Date    time.Time `json:"date"`
	Command string    `json:"command"`
	// Other is the command line of the third subject.
	Other    string   `json:"other,omitempty"`
	Machine  Machine  `json:"machine"`
	Versions Versions `json:"versions"`
	// Scale is the share of the usual sizes.
	Scale   float64  `json:"scale"`
	Seconds float64  `json:"seconds"`
	Results []Result `json:"results"`
}

// Machine that it was measured on.
type Machine struct {
	Processor string  `json:"processor"`
	Cores     int     `json:"cores"`
	MemoryGiB float64 `json:"memoryGiB"`
	System    string  `json:"system"`
	// LoadStart and LoadEnd are the load averages of the last minute before the run and in it.
	LoadStart float64 `json:"loadStart"`
	LoadEnd   float64 `json:"loadEnd"`
	// Neighbours is how many cores others used on average, in the result in which they used most.
	Neighbours float64 `json:"neighbours"`
	// Busy says that others used so much that times are no good.
	Busy bool `json:"busy"`
}

// Versions of what took part.
type Versions struct {
	Stoic      string `json:"stoic"`
	Kubernetes string `json:"kubernetes"`
	Go         string `json:"go"`
}

// Result of one workload at one size with one subject.
type Result struct {
	Workload string `json:"workload"`
	Subject  string `json:"subject"`
	// Size that the workload has in full, and Ran, the size at which it ran.
	Size int `json:"size"`
	Ran  int `json:"ran"`
	// Pods is how many pods there were in the end, or at most.
	Pods int `json:"pods"`
	// Values by measure.
	Values map[string]float64 `json:"values"`
	// Latencies by what was waited for, in seconds.
	Latencies map[string]measure.Quantiles `json:"latencies,omitempty"`
	Requests  []measure.Requests           `json:"requests,omitempty"`
	Seconds   float64                      `json:"seconds"`
	// Neighbours is how many cores others used meanwhile, on average.
	Neighbours float64 `json:"neighbours"`
	// Measured says when and with which build, if that was another run than the report's.
	Measured string `json:"measured,omitempty"`
	// Failed says why the workload did not come to its end; the values are those until then.
	Failed string `json:"failed,omitempty"`
}

// Value returns a measure. Quantiles of latencies are measures, too: "Running p99, s".
func (r *Result) Value(name string) (value float64, known bool) {
	value, known = r.Values[name]
	return value, known
}

// Set sets a measure.
func (r *Result) Set(name string, value float64) {
	if r.Values == nil {
		r.Values = map[string]float64{}
	}
	r.Values[name] = value
}

// SetLatency sets the quantiles of what was waited for.
func (r *Result) SetLatency(what string, times []time.Duration) {
	if len(times) == 0 {
		return
	}
	if r.Latencies == nil {
		r.Latencies = map[string]measure.Quantiles{}
	}
	q := measure.Summarize(times)
	r.Latencies[what] = q
	for name, value := range map[string]float64{" p50, s": q.P50, " p90, s": q.P90, " p99, s": q.P99} {
		r.Set(what+name, value)
	}
}

// Find returns the result of a workload at its full size; nil if there is none.
func (r *Report) Find(workload string, size int, subject string) *Result {
	for i := range r.Results {
		if f := &r.Results[i]; f.Workload == workload && f.Size == size && f.Subject == subject {
			return f
		}
	}
	return nil
}

// Keep copies the sizes of workloads that an earlier run measured and this one did not, and records which run they are from.
func (r *Report) Keep(earlier *Report) {
	now := slices.Clone(r.Results)
	for _, old := range earlier.Results {
		if slices.ContainsFunc(now, func(f Result) bool { return f.Workload == old.Workload && f.Size == old.Size }) {
			continue
		}
		if old.Measured == "" {
			old.Measured = fmt.Sprintf("on %s with Stoic %s", earlier.Date.Format("2006-01-02"), earlier.Versions.Stoic)
		}
		r.Results = append(r.Results, old)
	}
}

// Write writes the report to a file.
func (r *Report) Write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Read reads a report from a file.
func Read(file string) (*Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read the report %s: %w", file, err)
	}
	return r, nil
}
