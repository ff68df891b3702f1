package workload

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"stoic/test/bench/measure"
	"stoic/test/bench/report"
)

// Workload is one task, at several sizes.
type Workload struct {
	Name string
	// What describes it in one line for the help.
	What string
	// Sizes at which it runs, and Limits those at which the bare client runs too; nil for all of them. The client knows only TFJobs.
	Sizes, Limits []int
	anything      bool // the CRD accepts anything
	v2beta1       bool // MPIJobs are those of kubeflow.org/v2beta1
	pods          func(size int) int
	run           func(ctx context.Context, s *session, size int) error
}

// Has reports whether a subject runs at a size.
func (w Workload) Has(subject string, size int) bool {
	return subject != report.Limit || w.Limits == nil || slices.Contains(w.Limits, size)
}

// Measure runs the workload once. Only an end of the context is returned as an error; all others are in the result.
func (w Workload) Measure(ctx context.Context, setting Setting, size int) (report.Result, error) {
	r := report.Result{Workload: w.Name, Subject: setting.Subject.Name, Size: size, Ran: scaled(size, setting.Scale)}
	began, neighbours := time.Now(), measure.WatchNeighbours()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := open(inner, setting, w, &r)
	if err == nil {
		err = w.run(inner, s, r.Ran)
		cancel()
		err = errors.Join(err, s.close())
	}
	if err != nil {
		r.Failed = err.Error()
	}
	r.Seconds, r.Neighbours = math.Round(time.Since(began).Seconds()*10)/10, math.Round(neighbours.Cores()*100)/100
	return r, context.Cause(ctx)
}

// scaled scales a size: 0 stays 0, and any other size stays positive.
func scaled(size int, scale float64) int {
	if size == 0 {
		return 0
	}
	return max(int(math.Round(float64(size)*scale)), 1)
}
