package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"stoic/test/bench/environment"
	"stoic/test/bench/measure"
	"stoic/test/bench/report"
	"stoic/test/bench/wire"
	"stoic/test/operator"
	"stoic/training"
	"stoic/training/kinds"
)

const (
	// Namespaces: measured jobs are in the first, objects that are only stored in the second.
	measured, stored = "measured", "stored"

	// patience is how long nothing may change before a workload fails.
	patience = 2 * time.Minute
	// quiet is how long the subject must send no request to count as settled.
	quiet = 1500 * time.Millisecond
	// creators is how many goroutines create jobs in parallel.
	creators    = 16
	look        = 25 * time.Millisecond // the interval of polling
	tellEvery   = 5 * time.Second
	podsPerNode = 900
)

// Subject is what is measured.
type Subject struct {
	// Name is one of the subjects in package report.
	Name string
	// Words of its command line; see operator.Options.
	Words []string
	// Admin gives it all permissions.
	Admin bool
}

// Setting of a measurement.
type Setting struct {
	// Root is the checkout, and Dir is for the subjects' logs.
	Root, Dir string
	Subject   Subject
	// Scale is the share of the usual sizes.
	Scale float64
	Say   func(format string, values ...any)
}

// session is one workload at one size with one subject.
type session struct {
	Setting
	name        string
	result      *report.Result
	environment *environment.Environment
	process     *operator.Process
	log         string // a file
	audit       *measure.Audit
	watch       *watcher
	heard       chan error // the end of the watcher
	before      measure.Footprint
	counted     int // the subject's requests so far, including forgotten ones
}

// open starts a control plane and the watcher; the subject is not yet started.
func open(ctx context.Context, setting Setting, w Workload, result *report.Result) (s *session, err error) {
	s = &session{Setting: setting, result: result, heard: make(chan error, 1), watch: newWatcher(measured, served(w.v2beta1))}
	s.name = fmt.Sprintf("%s %d, %s", w.Name, result.Ran, setting.Subject.Name)
	s.environment, err = environment.Open(ctx, environment.Options{Root: s.Root, Nodes: 3 + w.pods(result.Ran)/podsPerNode, Anything: w.anything, V2Beta1: w.v2beta1,
		Admin: s.Subject.Admin, Namespaces: []string{measured, stored}})
	if err != nil {
		return nil, err
	}
	if s.audit, err = measure.FollowAudit(s.environment.AuditLog(), operator.User); err == nil {
		file := strings.NewReplacer(" ", "-", ",", "").Replace(s.name) + ".log"
		s.log = filepath.Join(s.Dir, file)
		err = os.WriteFile(s.log, nil, 0o644) // an earlier run may have left one
	}
	if err != nil {
		return nil, errors.Join(err, s.environment.Close())
	}
	synced := make(chan struct{})
	go func() { s.heard <- s.watch.follow(ctx, s.environment.Admin, func() { close(synced) }) }()
	select {
	case <-synced:
		return s, nil
	case err = <-s.heard:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(fmt.Errorf("watch jobs: %w", err), s.close())
}

// served returns the kinds that the API server serves.
func served(v2beta1 bool) []*training.Kind {
	if !v2beta1 {
		return kinds.All()
	}
	return slices.DeleteFunc(kinds.Served(), func(k *training.Kind) bool { return k == kinds.MPIJob() })
}

func (s *session) close() error {
	var failed []error
	if s.process != nil {
		// Its work is done: its exit code does not matter.
		if err := s.process.Stop(context.Background()); !errors.As(err, new(*exec.ExitError)) {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, s.audit.Close(), s.environment.Close())...)
}

// start starts the subject and waits until it works: a job that existed before has its pod, and ends. What the subject has done
// until then is not counted.
func (s *session) start(ctx context.Context) (err error) {
	const canary = "canary"
	if err := s.create(ctx, canary, shape{workers: 1, runs: 100 * time.Millisecond, exit: "0"}); err != nil {
		return err
	}
	began := time.Now()
	if s.process, err = operator.Start(operator.Options{Command: s.Subject.Words, Kubeconfig: s.environment.Kubeconfig(), Log: s.log}); err != nil {
		return err
	}
	ready := time.Time{}
	err = s.await(ctx, "the first job to end", func(c counts) bool {
		if ready.IsZero() && s.process.Ready(ctx) {
			ready = time.Now()
		}
		return c.ended == 1
	})
	if err != nil {
		return err
	}
	if made := s.watch.times(func(v *sight) time.Time { return v.made }); len(made) > 0 {
		s.result.Set(report.Restart, s.watch.since(canary, began).Seconds())
	}
	if !ready.IsZero() {
		s.result.Set(report.Ready, ready.Sub(began).Seconds())
	}
	return s.begin(ctx)
}

// begin waits until nothing is written any longer, and starts to count.
func (s *session) begin(ctx context.Context) (err error) {
	if err := s.settle(ctx); err != nil {
		return err
	}
	s.audit.Forget()
	s.watch.forget()
	s.before, err = s.process.Footprint()
	return err
}

// create creates one of the measured jobs.
func (s *session) create(ctx context.Context, name string, sh shape) error {
	body := sh.body(name)
	s.watch.ask(name, sh.pods())
	return s.environment.Admin.Send(ctx, http.MethodPost, wire.KindPath(sh.kindOf(), measured), wire.JSON, body, nil)
}

func jobName(i int) string { return "job-" + strconv.Itoa(i) }

// submit creates count jobs as fast as they are accepted, of these shapes in turn.
func (s *session) submit(ctx context.Context, count int, shapes ...shape) error {
	return s.inParallel(ctx, count, func(ctx context.Context, i int) error { return s.create(ctx, jobName(i), shapes[i%len(shapes)]) })
}

// inParallel calls do for 0..count-1.
func (s *session) inParallel(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	reported := time.Now()
	for worker := range creators {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					return err
				}
				if worker == 0 && time.Since(reported) > tellEvery {
					reported = time.Now()
					s.Say("%s: %d of %d objects asked for", s.name, i, count)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// paced calls do for 0..count-1, at this rate.
func (s *session) paced(ctx context.Context, count int, perSecond float64, do func(i int) error) error {
	ticker := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer ticker.Stop()
	reported := time.Now()
	for i := range count {
		if err := do(i); err != nil {
			return err
		}
		if time.Since(reported) > tellEvery {
			reported = time.Now()
			s.tell()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *session) tell() {
	c, _ := s.watch.progress()
	s.Say("%s: %d jobs asked for, %d have their pods (%d pods), %d seen Running, %d ended, %d gone", s.name, c.asked, c.made, s.watch.peak(), c.running, c.ended, c.gone)
}

// await waits until the condition holds, as long as something changes.
func (s *session) await(ctx context.Context, what string, holds func(counts) bool) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	reported := time.Now()
	for {
		c, moved := s.watch.progress()
		if holds(c) {
			return nil
		}
		if time.Since(moved) > patience {
			s.tell()
			return fmt.Errorf("waited for %s; for %v nothing has happened", what, patience)
		}
		if time.Since(reported) > tellEvery {
			reported = time.Now()
			s.tell()
		}
		if err := s.alive(ctx, ticker.C); err != nil {
			return err
		}
	}
}

// alive waits for the next poll, and returns an error if something has ended meanwhile.
func (s *session) alive(ctx context.Context, next <-chan time.Time) error {
	select {
	case <-next:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.process.Done():
		return errors.New("the operator has ended by itself: see " + s.log)
	case <-s.environment.Done():
		return s.environment.Err()
	case err := <-s.heard:
		return fmt.Errorf("the watch of jobs has ended: %w", err)
	}
}

// settle waits until the subject has sent no request for a while.
func (s *session) settle(ctx context.Context) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last, reported := time.Now(), time.Now()
	for began := time.Now(); time.Since(last) < quiet && time.Since(began) < 10*patience; {
		n, err := s.audit.Update()
		if err != nil {
			return err
		}
		if n > 0 {
			last = time.Now()
			s.counted += n
		}
		if time.Since(reported) > tellEvery {
			reported = time.Now()
			s.Say("%s: %d requests so far, and more come", s.name, s.counted)
		}
		if err := s.alive(ctx, ticker.C); err != nil {
			return err
		}
	}
	return nil
}

// rest returns how much CPU time the idle subject takes, in percent of a core.
func (s *session) rest(ctx context.Context, period time.Duration) (percent float64, after measure.Footprint, err error) {
	before, err := s.process.Footprint()
	if err != nil {
		return 0, after, err
	}
	s.Say("%s: watching it do nothing for %v", s.name, period)
	timer := time.NewTimer(period)
	defer timer.Stop()
	if err := s.alive(ctx, timer.C); err != nil {
		return 0, after, err
	}
	after, err = s.process.Footprint()
	return 100 * (after.CPU - before.CPU).Seconds() / period.Seconds(), after, err
}
