package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"stoic/training"
	"stoic/training/kinds"
)

// workload is one task, at several sizes.
type workload struct {
	name, does          string
	sizes               []int
	podsPerUnit         int
	isWithoutBareClient bool
	acceptsAnything     bool // the CRDs have no schema
	isV2beta1           bool // MPIJobs are those of kubeflow.org/v2beta1
	isOneJob            bool // the size is that of one job
	healthy             int  // jobs that run next to those that are only stored; 0 if the size is the number of jobs
	// run calls start when the objects that exist before the subject does are stored.
	run func(ctx context.Context, s *session, size int, start func() error) error
}

func workloads() []workload {
	standard := shape{servers: 1, workers: 4, runs: 3 * time.Second}
	single := shape{workers: 1, runs: 3 * time.Second}
	return []workload{
		{name: "jobs", does: "jobs of 1 PS and 4 workers, all created at once, until all have succeeded", sizes: []int{200, 1000}, podsPerUnit: 5, run: burst(standard)},
		{name: "growth", does: "jobs of 1 worker: does one cost more where there are many?", sizes: []int{200, 10000}, podsPerUnit: 1, run: burst(single)},
		{name: "wide", does: "one job of very many workers, until all run", sizes: []int{1000, 5000}, podsPerUnit: 1, isOneJob: true, run: wide},
		{name: "stored", does: "finished jobs that are only stored: start, idle cost, memory", sizes: []int{10000}, run: resting},
		{name: "churn", does: "jobs of 1 worker, 20 a second, each deleted after 5 s", sizes: []int{2400}, podsPerUnit: 1, run: churn},
		{name: "rejected", does: "200 healthy jobs, 2 a second, next to malformed objects", sizes: []int{0, 1000}, isWithoutBareClient: true, acceptsAnything: true,
			healthy: 200, run: nextToMalformed(standard)},
		{name: "latency", does: "one job of 1 PS and 4 workers at a time", sizes: []int{30}, podsPerUnit: 5, run: oneByOne(shape{servers: 1, workers: 4, runs: 300 * time.Millisecond})},
		{name: "kinds", does: "jobs of all six kinds in turn, 5 pods each", sizes: []int{240}, podsPerUnit: 5, isWithoutBareClient: true, run: burst(ofEachKind(standard)...)},
		{name: "mpi-v2beta1", does: "MPIJobs of kubeflow.org/v2beta1, of a launcher and 4 workers", sizes: []int{100}, podsPerUnit: 5, isWithoutBareClient: true, isV2beta1: true,
			run: burst(shape{kind: mpiV2beta1(), servers: 1, workers: 4, runs: 3 * time.Second})},
	}
}

// jobs returns how many jobs the costs of a run are divided by.
func (w workload) jobs(size int, scale float64) int {
	if w.isOneJob {
		return 1
	}
	return max(cmp.Or(scaled(w.healthy, scale), size), 1)
}

func (w workload) pods(size int) int { return 5*w.healthy + w.podsPerUnit*size }

// kinds returns the kinds that the API server serves.
func (w workload) kinds() []*training.Kind {
	if !w.isV2beta1 {
		return kinds.All()
	}
	return append(slices.DeleteFunc(kinds.All(), func(k *training.Kind) bool { return k.Name == kinds.MPIJob().Name }), mpiV2beta1())
}

// crds returns the files of the CRDs.
func (w workload) crds(root string) ([]string, error) {
	pattern := "deploy/crd/*jobs.yaml"
	if w.acceptsAnything {
		pattern = "test/fixtures/*jobs-open.yaml"
	}
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if w.isV2beta1 {
		files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "mpijobs.yaml") })
		files = append(files, filepath.Join(root, "deploy/mpijob-v2beta1/mpijobs.yaml"))
	}
	return files, err
}

// scaled scales a size: 0 stays 0, and any other size stays positive.
func scaled(size int, scale float64) int {
	if size == 0 {
		return 0
	}
	return max(int(float64(size)*scale+0.5), 1)
}

func jobName(i int) string { return "job-" + strconv.Itoa(i) }

func endOf(j *sight) time.Time { return j.ended }

// burst creates all jobs at once, of these shapes in turn, and waits for their ends.
func burst(shapes ...shape) func(context.Context, *session, int, func() error) error {
	return func(ctx context.Context, s *session, size int, start func() error) error {
		if err := start(); err != nil {
			return err
		}
		err := inParallel(size, func(i int) error { return s.create(ctx, jobName(i), shapes[i%len(shapes)]) })
		if err != nil {
			return err
		}
		return s.await(ctx, "all jobs to end", size, endOf)
	}
}

func inParallel(count int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(16)
	for i := range count {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// sparseFrom is the size from which a job's TF_CONFIG would exceed the limit for an environment of a process.
const sparseFrom = 2500

func wide(ctx context.Context, s *session, size int, start func() error) error {
	if err := start(); err != nil {
		return err
	}
	if err := s.create(ctx, "wide", shape{workers: size, isSparse: size > sparseFrom}); err != nil {
		return err
	}
	return s.await(ctx, "all pods to run", 1, func(j *sight) time.Time { return j.running })
}

// resting stores finished jobs, then starts the subject and lets it rest.
func resting(ctx context.Context, s *session, size int, start func() error) error {
	jobs := s.storedJobs()
	err := inParallel(size, func(i int) error {
		job := shape{servers: 1, workers: 4}.job(jobName(i))
		made, err := jobs.Create(ctx, job, metav1.CreateOptions{})
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
		_, err = jobs.UpdateStatus(ctx, made, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if err := start(); err != nil {
		return err
	}
	period := max(time.Duration(s.scale*float64(30*time.Second)), 2*time.Second)
	timer := time.NewTimer(period)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := s.process.Footprint()
	s.result.values[idle] = 100 * (after.CPU - s.before.CPU).Seconds() / period.Seconds()
	s.result.values[atRest] = float64(after.Resident) / 1e6
	return err
}

func (s *session) storedJobs() dynamic.ResourceInterface {
	return s.client.Resource(resourceOf(kinds.TFJob())).Namespace(stored)
}

// churn creates jobs and deletes each of them some seconds later.
func churn(ctx context.Context, s *session, size int, start func() error) error {
	const rate = 20
	const lifetime = 5 * rate
	if err := start(); err != nil {
		return err
	}
	jobs := s.client.Resource(resourceOf(kinds.TFJob())).Namespace(measured)
	background := metav1.DeletePropagationBackground
	half := s.before
	err := paced(ctx, size+lifetime, rate, func(i int) (err error) {
		if i == size/2 {
			if half, err = s.process.Footprint(); err != nil {
				return err
			}
		}
		if i >= lifetime {
			if err := jobs.Delete(ctx, jobName(i-lifetime), metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
				return err
			}
		}
		if i < size {
			return s.create(ctx, jobName(i), shape{workers: 1})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := s.await(ctx, "all jobs to be deleted", size, func(j *sight) time.Time { return j.gone }); err != nil {
		return err
	}
	after, err := s.process.Footprint()
	s.result.values[growth] = float64(after.Resident-half.Resident) / 1e6
	return err
}

// paced calls do for 0 to count-1, at this rate per second.
func paced(ctx context.Context, count, rate int, do func(i int) error) error {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	for i := range count {
		if err := do(i); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// nextToMalformed runs healthy jobs while malformed ones are stored in another namespace. They are created no faster than two cores
// can handle: otherwise jobs would wait for each other, which shows nothing about the malformed ones.
func nextToMalformed(sh shape) func(context.Context, *session, int, func() error) error {
	return func(ctx context.Context, s *session, size int, start func() error) error {
		err := inParallel(size, func(i int) error {
			job := sh.job(jobName(i))
			job.Object["spec"] = map[string]any{"tfReplicaSpecs": map[string]any{"Worker": map[string]any{"template": "none"}}}
			_, err := s.storedJobs().Create(ctx, job, metav1.CreateOptions{})
			return err
		})
		if err != nil {
			return fmt.Errorf("store malformed jobs: %w", err)
		}
		if err := start(); err != nil {
			return err
		}
		healthy := scaled(200, s.scale)
		if err := paced(ctx, healthy, 2, func(i int) error { return s.create(ctx, jobName(i), sh) }); err != nil {
			return err
		}
		return s.await(ctx, "the healthy jobs to end", healthy, endOf)
	}
}

func oneByOne(sh shape) func(context.Context, *session, int, func() error) error {
	return func(ctx context.Context, s *session, size int, start func() error) error {
		if err := start(); err != nil {
			return err
		}
		for i := range size {
			if err := s.create(ctx, jobName(i), sh); err != nil {
				return err
			}
			if err := s.await(ctx, "a job to end", i+1, endOf); err != nil {
				return err
			}
		}
		return nil
	}
}

// shape describes the jobs of a workload.
type shape struct {
	kind *training.Kind // nil is TFJob
	// servers is the number of parameter servers of a TFJob, or of replicas of another kind's first replica type, unless that is Worker.
	servers, workers int
	runs             time.Duration // until each container exits with 0; 0 is forever
	isSparse         bool          // without the other workers in TF_CONFIG
}

func (s shape) kindOf() *training.Kind {
	if s.kind == nil {
		return kinds.TFJob()
	}
	return s.kind
}

func (s shape) job(name string) *unstructured.Unstructured {
	kind := s.kindOf()
	replicas := func(count int, ends bool) map[string]any {
		annotations := map[string]any{}
		if ends && s.runs > 0 {
			annotations["simulation.stoic/run-for"] = s.runs.String()
			annotations["simulation.stoic/exit-code"] = "0"
		}
		container := map[string]any{"name": cmp.Or(kind.Container, "main"), "image": "training:1", "command": []any{"python", "/opt/train.py", "--epochs=10"},
			"resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "16Mi"}}}
		return map[string]any{"replicas": int64(count), "restartPolicy": "Never", "template": map[string]any{
			"metadata": map[string]any{"annotations": annotations}, "spec": map[string]any{"containers": []any{container}}}}
	}
	isMPI := kind.Name == kinds.MPIJob().Name // workers wait for the launcher to start processes in them, and end with the job
	rtypes := map[string]any{"Worker": replicas(s.workers, !isMPI)}
	if s.servers > 0 {
		first := kind.ReplicaTypes[0].Name
		if kind.Name == kinds.TFJob().Name {
			first = "PS"
		}
		rtypes[first] = replicas(s.servers, true)
	}
	spec := map[string]any{"runPolicy": map[string]any{"cleanPodPolicy": "None"}, kind.ReplicaSpecsField: rtypes}
	if s.isSparse {
		spec["enableDynamicWorker"] = true
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Name, "metadata": map[string]any{"name": name}, "spec": spec}}
}

// ofEachKind returns the standard job as one of each kind, with as many pods each.
func ofEachKind(standard shape) (shapes []shape) {
	for _, kind := range kinds.All() {
		s := standard
		s.kind = kind
		if len(kind.ReplicaTypes) == 1 {
			s.workers += s.servers
			s.servers = 0
		}
		shapes = append(shapes, s)
	}
	return shapes
}
