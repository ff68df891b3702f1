package report

import "fmt"

// Budget is the bound of a measure of Stoic.
type Budget struct {
	Workload string
	// Size to which it applies; 0 for all sizes.
	Size    int
	Measure string
	// Bound is the most, or with AtLeast the least.
	Bound   float64
	AtLeast bool
	// Against says what the bound is a multiple of: nothing, the bare client, or Stoic at the smallest size.
	Against Reference
}

// Reference is what a measure is compared with.
type Reference int

// The references.
const (
	Absolute Reference = iota
	OfLimit
	OfSmallest
)

// Budgets returns the promises of the benchmark about Stoic. They must not be changed silently.
func Budgets() []Budget {
	return []Budget{
		{Workload: "jobs", Measure: Writes, Bound: 13},
		{Workload: "jobs", Measure: Conflicts, Bound: 0},
		{Workload: "jobs", Measure: Gets, Bound: 0},
		{Workload: "jobs", Measure: Events, Bound: 4},
		{Workload: "jobs", Measure: Dropped, Bound: 0},
		{Workload: "jobs", Measure: CPU, Bound: 12},
		{Workload: "jobs", Measure: Unseen, Bound: 0},
		{Workload: "single", Measure: Unseen, Bound: 0},
		{Workload: "growth", Measure: Unseen, Bound: 0},
		{Workload: "jobs", Size: 1000, Measure: Peak, Bound: 80},
		{Workload: "wide", Measure: Rate, Bound: 0.8, AtLeast: true, Against: OfLimit},
		{Workload: "rejected", Measure: RunningP99, Bound: 1.1, Against: OfSmallest},
		{Workload: "latency", Measure: CreatedP50, Bound: 1.3, Against: OfLimit},
		{Workload: "death", Measure: DeathP99, Bound: 1},
		{Workload: "growth", Measure: Writes, Bound: 1.02, Against: OfSmallest},
		{Workload: "growth", Measure: CPU, Bound: 1.1, Against: OfSmallest},
		{Workload: "growth", Measure: PeakPerJob, Bound: 1.1, Against: OfSmallest},
		// Five pods and three statuses, and five services or, of an MPIJob, its four other objects.
		{Workload: "kinds", Measure: Writes, Bound: 13},
		{Workload: "kinds", Measure: Conflicts, Bound: 0},
		{Workload: "kinds", Measure: Gets, Bound: 0},
		{Workload: "kinds", Measure: Events, Bound: 4},
		{Workload: "kinds", Measure: Dropped, Bound: 0},
		{Workload: "kinds", Measure: Unseen, Bound: 0},
		// Four objects, five pods, three statuses, and nothing that is written twice.
		{Workload: "mpi", Measure: Writes, Bound: 12},
		{Workload: "mpi", Measure: Conflicts, Bound: 0},
		{Workload: "mpi", Measure: Gets, Bound: 0},
		{Workload: "mpi", Measure: Events, Bound: 4},
		{Workload: "mpi", Measure: Unseen, Bound: 0},
		// Three objects, the Job of the launcher, four pods, three statuses, and the list of hosts that run, as these come.
		{Workload: "mpi-v2beta1", Measure: Writes, Bound: 13},
		{Workload: "mpi-v2beta1", Measure: Conflicts, Bound: 0},
		{Workload: "mpi-v2beta1", Measure: Gets, Bound: 0},
		{Workload: "mpi-v2beta1", Measure: Events, Bound: 4},
		{Workload: "mpi-v2beta1", Measure: Unseen, Bound: 0},
		{Workload: "wide", Measure: CPUPerPod, Bound: 1.1, Against: OfSmallest},
	}
}

// String formats a budget as in a table.
func (b Budget) String() string {
	sign := "<="
	if b.AtLeast {
		sign = ">="
	}
	switch b.Against {
	case OfLimit:
		return fmt.Sprintf("%s %s x limit", sign, number(b.Bound))
	case OfSmallest:
		return fmt.Sprintf("%s %s x smallest", sign, number(b.Bound))
	}
	return sign + " " + number(b.Bound)
}

// judge reports whether the budget is kept; known is false if something was not measured.
func (b Budget) judge(r *Report, mine *Result) (kept, known bool) {
	value, ok := mine.Value(b.Measure)
	if !ok {
		return false, false
	}
	bound := b.Bound
	switch b.Against {
	case OfLimit:
		reference, ok := valueOf(r.Find(mine.Workload, mine.Size, Limit), b.Measure)
		if !ok {
			return false, false
		}
		bound *= reference
	case OfSmallest:
		reference, ok := valueOf(r.smallest(mine.Workload, mine.Subject), b.Measure)
		if !ok {
			return false, false
		}
		bound *= reference
	}
	if b.AtLeast {
		return value >= bound, true
	}
	return value <= bound, true
}

func valueOf(r *Result, name string) (float64, bool) {
	if r == nil || r.Failed != "" {
		return 0, false
	}
	return r.Value(name)
}

func (r *Report) smallest(workload, subject string) (found *Result) {
	for i := range r.Results {
		f := &r.Results[i]
		if f.Workload == workload && f.Subject == subject && (found == nil || f.Size < found.Size) {
			found = f
		}
	}
	return found
}
