package kinds

import (
	"fmt"
	"sort"
	"testing"

	"stoic/schema"
	"stoic/training"
)

// xgb returns an XGBoostJob of "TYPE:replicas" or "TYPE:replicas:port", lowered.
func xgb(rtypes ...string) *training.Job {
	job := jobOf(XGBoostJob(), "higgs", rtypes)
	job.Kind.Lower(job, nil)
	return job
}

// TestXGBoostEnvironment: the variables, in their order, which is that of training-operator.
func TestXGBoostEnvironment(t *testing.T) {
	const meeting = "MASTER_PORT=9999 MASTER_ADDR=higgs-master-0 WORLD_SIZE="
	checkEnvironment(t, map[string]environmentCase{
		"master":      {xgb("Master:1", "Worker:2"), "Master", 0, meeting + "3 RANK=0 PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=higgs-worker-0,higgs-worker-1"},
		"worker":      {xgb("Master:1", "Worker:2"), "Worker", 1, meeting + "3 RANK=2 PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=higgs-worker-0,higgs-worker-1"},
		"own ports":   {xgb("Master:1:1234", "Worker:1:4321"), "Worker", 0, "MASTER_PORT=1234 MASTER_ADDR=higgs-master-0 WORLD_SIZE=2 RANK=1 PYTHONUNBUFFERED=1 WORKER_PORT=4321 WORKER_ADDRS=higgs-worker-0"},
		"alone":       {xgb("Master:1"), "Master", 0, meeting + "1 RANK=0 PYTHONUNBUFFERED=1"},
		"no workers":  {xgb("Master:1", "Worker:0"), "Master", 0, meeting + "1 RANK=0 PYTHONUNBUFFERED=1"},
		"no master":   {xgb("Worker:2"), "Worker", 1, meeting + "2 RANK=1 PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=higgs-worker-0,higgs-worker-1"}, // which the converter does not let through
		"one worker":  {xgb("Worker:1"), "Worker", 0, meeting + "1 RANK=0 PYTHONUNBUFFERED=1"},
		"at the edge": {xgb("Master:1", "Worker:11"), "Worker", 10, meeting + "12 RANK=11 PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=higgs-worker-0,higgs-worker-1,higgs-worker-2,higgs-worker-3,higgs-worker-4,higgs-worker-5,higgs-worker-6,higgs-worker-7,higgs-worker-8,higgs-worker-9,higgs-worker-10"},
	})
}

// TestXGBoostLimit finds the largest job: its list of workers can be passed to a process. An excessive number is
// rejected without building the list.
func TestXGBoostLimit(t *testing.T) {
	problems := func(workers int) []schema.Problem {
		job := jobOf(XGBoostJob(), "higgs", []string{"Master:1", fmt.Sprint("Worker:", workers)})
		return job.Kind.Lower(job, nil)
	}
	n := sort.Search(training.MaxReplicas, func(n int) bool { return len(problems(n)) > 0 }) - 1
	job := xgb("Master:1", fmt.Sprint("Worker:", n))
	variables := job.Kind.Environment(job)(job.ReplicaType("Worker"), 0)
	last := variables[len(variables)-1]
	if size := len(last.Name) + len("=") + len(last.Value); last.Name != "WORKER_ADDRS" || size > variableLimit || size < variableLimit-100 {
		t.Errorf("%d workers make %s of %d bytes", n, last.Name, size)
	}
	for _, n := range []int{n + 1, 2147483647} {
		if found := problems(n); len(found) != 1 || found[0].Code != schema.TooLarge || found[0].Path != "spec.xgbReplicaSpecs" {
			t.Errorf("%d workers: %v", n, found)
		}
	}
}
