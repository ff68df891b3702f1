package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/training"
)

// workload is a task, at any size.
type workload struct {
	name, does          string
	podsPerUnit         int
	isWithoutBareClient bool
	acceptsAnything     bool // the CRDs have no schema
	// run stores what exists before the subject starts, starts the subject, and waits until it has done its work.
	run func(ctx context.Context, s *session, size int) error
}

func workloads() []workload {
	return []workload{
		{name: "jobs", does: "jobs of 1 PS and 4 workers, all created at once, until all have succeeded", podsPerUnit: 5, run: burst},
		{name: "wide", does: "one job of so many workers, until all run", podsPerUnit: 1, run: wide},
		{name: "stored", does: "finished jobs that are only stored: start, idle cost, memory", isWithoutBareClient: true, run: resting},
		{name: "rejected", does: "100 healthy jobs, 2 a second, next to so many malformed ones", acceptsAnything: true, run: nextToMalformed},
	}
}

// everything is what the benchmark runs if it is not asked for less.
const everything = "jobs:200,wide:1000,stored:10000,rejected:0,rejected:1000"

func jobName(i int) string { return "job-" + strconv.Itoa(i) }

// burst creates all jobs at once and waits for their ends.
func burst(ctx context.Context, s *session, size int) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := inParallel(size, func(i int) error { return s.create(ctx, tfJob(jobName(i), 1, 4)) }); err != nil {
		return err
	}
	return s.awaitJobs(ctx, size, training.Succeeded)
}

func inParallel(count int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range count {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

func wide(ctx context.Context, s *session, size int) error {
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := s.create(ctx, tfJob("wide", 0, size)); err != nil {
		return err
	}
	return s.awaitJobs(ctx, 1, training.Running)
}

// resting stores finished jobs, then starts the subject and lets it rest.
func resting(ctx context.Context, s *session, size int) error {
	err := inParallel(size, func(i int) error {
		made, err := s.jobsIn(stored).Create(ctx, tfJob(jobName(i), 1, 4), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		const then = "2026-01-01T00:00:00Z"
		var conditions []any
		for condition, status := range map[string]string{"Created": "True", "Running": "False", "Succeeded": "True"} {
			conditions = append(conditions, map[string]any{"type": condition, "status": status, "reason": "TFJob" + condition, "message": "TFJob is done.",
				"lastUpdateTime": then, "lastTransitionTime": then})
		}
		made.Object["status"] = map[string]any{"startTime": then, "completionTime": then, "conditions": conditions, "replicaStatuses": map[string]any{}}
		_, err = s.jobsIn(stored).UpdateStatus(ctx, made, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("store finished jobs: %w", err)
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	const period = 30 * time.Second
	select {
	case <-time.After(period):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := s.process.Footprint()
	s.values[idle] = 100 * (after.CPU - s.before.CPU).Seconds() / period.Seconds()
	s.values[atRest] = float64(after.Resident) / 1e6
	return err
}

// nextToMalformed runs healthy jobs while malformed ones are stored in another namespace. They are created no faster than two cores
// can handle: otherwise jobs would wait for each other, which shows nothing about the malformed ones.
func nextToMalformed(ctx context.Context, s *session, size int) error {
	err := inParallel(size, func(i int) error {
		job := tfJob(jobName(i), 1, 4)
		job.Object["spec"] = map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{"template": "none"}}}
		_, err := s.jobsIn(stored).Create(ctx, job, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("store malformed jobs: %w", err)
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	const healthy = 100
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for i := range healthy {
		if err := s.create(ctx, tfJob(jobName(i), 1, 4)); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.awaitJobs(ctx, healthy, training.Succeeded)
}

// tfJob returns a job whose containers end well after three seconds.
func tfJob(name string, servers, workers int) *unstructured.Unstructured {
	replicas := func(count int) map[string]any {
		return map[string]any{"replicas": int64(count), "restartPolicy": "Never", "template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"simulation.stoic/run-for": "3s", "simulation.stoic/exit-code": "0"}},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "tensorflow", "image": "training:1", "command": []any{"python", "/opt/train.py", "--epochs=10"},
				"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "16Mi"}},
			}}},
		}}
	}
	types := map[string]any{"Worker": replicas(workers)}
	if servers > 0 {
		types["PS"] = replicas(servers)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubeflow.org/v1",
		"kind":       "TFJob",
		"metadata":   map[string]any{"name": name},
		"spec":       map[string]any{"runPolicy": map[string]any{"cleanPodPolicy": "None"}, "tfReplicaSpecs": types},
	}}
}
