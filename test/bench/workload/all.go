package workload

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"stoic/test/bench/report"
	"stoic/test/bench/wire"
	"stoic/training"
	"stoic/training/kinds"
)

// sparseFrom is the size from which a job's TF_CONFIG would exceed the limit for an environment of a process.
const sparseFrom = 2500

// All returns all workloads.
func All() []Workload {
	standard := shape{servers: 1, workers: 4, runs: 3 * time.Second, exit: "0"}
	single := shape{workers: 1, runs: 3 * time.Second, exit: "0"}
	return []Workload{
		{Name: "jobs", What: "jobs of 1 PS + 4 workers, all asked for at once, until all have succeeded", Sizes: []int{200, 1000},
			pods: func(n int) int { return 5 * n }, run: burst(standard)},
		{Name: "single", What: "jobs of 1 worker", Sizes: []int{1000}, pods: one, run: burst(single)},
		{Name: "wide", What: "one job of very many workers, until all run", Sizes: []int{1000, 5000}, pods: one, run: wide},
		{Name: "stored", What: "finished jobs that are merely stored: start, idle cost, memory", Sizes: []int{10000}, pods: none, run: resting},
		{Name: "restarts", What: "jobs whose worker fails three times with a retryable code; the bare client does not pause between", Sizes: []int{500}, pods: one,
			run: burst(shape{workers: 1, runs: time.Second, exit: "137", retries: 2})},
		{Name: "churn", What: "jobs of 1 worker created at 20 a second for two minutes, each deleted after 5 s", Sizes: []int{2400}, pods: one, run: churn},
		{Name: "rejected", What: "200 healthy jobs of 1 PS + 4 workers, 2 a second, beside malformed objects", Sizes: []int{0, 1000, 10000}, Limits: []int{0},
			anything: true, pods: func(int) int { return 1000 }, run: beside(standard)},
		{Name: "latency", What: "one job of 1 PS + 4 workers at a time on an idle cluster", Sizes: []int{30}, pods: func(n int) int { return 5 * n },
			run: oneByOne(shape{servers: 1, workers: 4, runs: 300 * time.Millisecond, exit: "0"})},
		{Name: "death", What: "the worker of one of many running jobs dies, thirty times one after the other", Sizes: []int{2000}, pods: one, run: podFailures},
		{Name: "growth", What: "jobs of 1 worker: does one cost more where there are many?", Sizes: []int{200, 10000}, pods: one, run: burst(single)},
		{Name: "kinds", What: "jobs of all six kinds in turn, 5 pods each", Sizes: []int{240}, Limits: []int{},
			pods: func(n int) int { return 5 * n }, run: burst(ofEachKind(standard)...)},
		{Name: "mpi", What: "MPIJobs of a launcher and 4 workers, with their ConfigMap, ServiceAccount, Role and RoleBinding", Sizes: []int{100}, Limits: []int{},
			pods: func(n int) int { return 5 * n }, run: burst(shape{kind: kinds.MPIJob(), servers: 1, workers: 4, runs: 3 * time.Second, exit: "0"})},
		{Name: "mpi-v2beta1", What: "MPIJobs of kubeflow.org/v2beta1, of a launcher and 4 workers, with their Service, ConfigMap, Secret and batch/v1 Job",
			Sizes: []int{100}, Limits: []int{}, v2beta1: true, pods: func(n int) int { return 5 * n },
			run: burst(shape{kind: mpiV2Beta1(), servers: 1, workers: 4, runs: 3 * time.Second, exit: "0"})},
	}
}

// mpiV2Beta1 returns the version of MPIJob that a plain installation does not have.
func mpiV2Beta1() *training.Kind {
	all := kinds.Served()
	return all[slices.IndexFunc(all, func(k *training.Kind) bool { return k.Name == kinds.MPIJob().Name && k.Version == "v2beta1" })]
}

// Names returns those of all workloads.
func Names() (names []string) {
	for _, w := range All() {
		names = append(names, w.Name)
	}
	return names
}

func one(size int) int { return size }
func none(int) int     { return 0 }

// burst creates all jobs together, of these shapes in turn, and waits for their ends.
func burst(shapes ...shape) func(context.Context, *session, int) error {
	return func(ctx context.Context, s *session, size int) error {
		if err := s.start(ctx); err != nil {
			return err
		}
		began := time.Now()
		err := s.submit(ctx, size, shapes...)
		if err == nil {
			err = s.await(ctx, "all jobs to end", func(c counts) bool { return c.ended == size })
		}
		s.result.Set(report.Throughput, float64(size)/time.Since(began).Seconds())
		return s.conclude(ctx, size, err)
	}
}

// conclude records the results, also after a failure.
func (s *session) conclude(ctx context.Context, jobs int, err error) error {
	if err == nil {
		err = s.settle(ctx)
	}
	if s.process == nil || ctx.Err() != nil {
		return err
	}
	if failed := s.finish(ctx, jobs); err == nil {
		err = failed
	}
	return err
}

func wide(ctx context.Context, s *session, size int) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	err := s.create(ctx, "w", shape{workers: size, sparse: size > sparseFrom})
	if err == nil {
		err = s.await(ctx, "all pods", func(c counts) bool { return c.made == 1 && c.running == 1 })
	}
	return s.conclude(ctx, 1, err)
}

// resting stores finished jobs, as another operator left them, then starts the subject.
func resting(ctx context.Context, s *session, size int) error {
	const status = `{"status":{"conditions":[{"type":"Created","status":"True","reason":"TFJobCreated","message":"TFJob is created.","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"},` +
		`{"type":"Running","status":"False","reason":"TFJobRunning","message":"TFJob is running.","lastUpdateTime":"2026-01-01T00:00:05Z","lastTransitionTime":"2026-01-01T00:00:05Z"},` +
		`{"type":"Succeeded","status":"True","reason":"TFJobSucceeded","message":"TFJob successfully completed.","lastUpdateTime":"2026-01-01T00:00:05Z","lastTransitionTime":"2026-01-01T00:00:05Z"}],` +
		`"replicaStatuses":{"PS":{},"Worker":{}},"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z"}}`
	err := s.inParallel(ctx, size, func(ctx context.Context, i int) error {
		name := jobName(i)
		if err := s.environment.Admin.Send(ctx, http.MethodPost, wire.JobsPath(stored), wire.JSON, shape{servers: 1, workers: 4}.body(name), nil); err != nil {
			return err
		}
		return s.environment.Admin.Send(ctx, http.MethodPatch, wire.JobsPath(stored)+"/"+name+"/status", wire.MergePatch, []byte(status), nil)
	})
	if err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	percent, after, err := s.rest(ctx, max(time.Duration(s.Scale*float64(30*time.Second)), 2*time.Second))
	if err != nil {
		return err
	}
	s.result.Set(report.IdleCPU, percent)
	s.result.Set(report.Memory, float64(after.Resident)/megabyte)
	return s.conclude(ctx, size, nil)
}

// churn creates jobs and deletes each some seconds later.
func churn(ctx context.Context, s *session, size int) error {
	const rate, lifetime = 20, 5 * 20
	if err := s.start(ctx); err != nil {
		return err
	}
	remove := func(i int) error {
		return s.environment.Admin.Send(ctx, http.MethodDelete, wire.JobsPath(measured)+"/"+jobName(i), wire.JSON, []byte(`{"propagationPolicy":"Background"}`), nil)
	}
	var half float64
	err := s.paced(ctx, size+lifetime, rate, func(i int) error {
		if i == size/2 {
			f, err := s.process.Footprint()
			if err != nil {
				return err
			}
			half = float64(f.Resident)
		}
		if i >= lifetime {
			if err := remove(i - lifetime); err != nil {
				return err
			}
		}
		if i >= size {
			return nil
		}
		return s.create(ctx, jobName(i), shape{workers: 1})
	})
	if err == nil {
		err = s.await(ctx, "all jobs to go", func(c counts) bool { return c.gone == size })
	}
	if f, failed := s.process.Footprint(); failed == nil {
		s.result.Set(report.Growth, (float64(f.Resident)-half)/megabyte)
	}
	return s.conclude(ctx, size, err)
}

// beside runs healthy jobs in one namespace while malformed ones are stored in another. They are created no faster than two cores
// can handle: otherwise jobs would wait for each other, which shows nothing about the malformed ones.
func beside(sh shape) func(context.Context, *session, int) error {
	return func(ctx context.Context, s *session, size int) error {
		err := s.inParallel(ctx, size, func(ctx context.Context, i int) error {
			return s.environment.Admin.Send(ctx, http.MethodPost, wire.JobsPath(stored), wire.JSON, malformed(jobName(i)), nil)
		})
		if err != nil {
			return err
		}
		if err := s.start(ctx); err != nil {
			return err
		}
		healthy := scaled(200, s.Scale)
		err = s.paced(ctx, healthy, 2, func(i int) error { return s.create(ctx, jobName(i), sh) })
		if err == nil {
			err = s.await(ctx, "the healthy jobs to end", func(c counts) bool { return c.ended == healthy })
		}
		return s.conclude(ctx, healthy, err)
	}
}

func oneByOne(sh shape) func(context.Context, *session, int) error {
	return func(ctx context.Context, s *session, size int) error {
		err := s.start(ctx)
		if err != nil {
			return err
		}
		for i := 0; i < size && err == nil; i++ {
			if err = s.create(ctx, jobName(i), sh); err == nil {
				err = s.await(ctx, "a job to end", func(c counts) bool { return c.ended == i+1 })
			}
		}
		return s.conclude(ctx, size, err)
	}
}

// podFailures runs many jobs, and makes one pod after the other fail.
func podFailures(ctx context.Context, s *session, size int) error {
	err := s.start(ctx)
	if err != nil {
		return err
	}
	if err = s.submit(ctx, size, shape{workers: 1}); err == nil {
		err = s.await(ctx, "all jobs to run", func(c counts) bool { return c.running == size })
	}
	if err == nil {
		err = s.settle(ctx)
	}
	var reported []time.Duration
	for i := 0; i < min(30, size) && err == nil; i++ {
		pod := jobName(i) + "-worker-0"
		const die = `{"metadata":{"annotations":{"simulation.stoic/exit-code":"1","simulation.stoic/run-for":"0s"}}}`
		err = s.environment.Admin.Send(ctx, http.MethodPatch, wire.CorePath(measured, "pods")+"/"+pod, wire.MergePatch, []byte(die), nil)
		if err == nil {
			err = s.await(ctx, "a death to be told", func(counts) bool { return s.watch.failureReported(jobName(i), pod) })
		}
		if err == nil {
			reported = append(reported, s.watch.reportTook(jobName(i), pod))
		}
	}
	s.result.SetLatency(report.WaitDeath, reported)
	if err != nil {
		err = fmt.Errorf("after %d deaths: %w", len(reported), err)
	}
	return s.conclude(ctx, size, err)
}
