package kinds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"stoic/schema"
	"stoic/training"
)

// py returns a PyTorchJob of "TYPE:replicas" or "TYPE:replicas:port", lowered.
func py(options *PyTorchJobOptions, rtypes ...string) *training.Job {
	job := jobOf(PyTorchJob(), "bert", rtypes)
	job.Kind.Lower(job, options)
	return job
}

func ptr[T any](v T) *T { return &v }

// TestPyTorchEnvironment: the variables, in their order, which is that of training-operator.
func TestPyTorchEnvironment(t *testing.T) {
	elastic := &PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{MinReplicas: ptr[int32](1), MaxReplicas: ptr[int32](3)}}
	everything := &PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{
		MinReplicas: ptr[int32](1), MaxReplicas: ptr[int32](3), RDZVBackend: ptr("etcd"), RDZVPort: ptr[int32](2379), RDZVHost: ptr("etcd.svc"),
		RDZVID: ptr("run-7"), RDZVConf: []RDZVConf{{"timeout", "900"}, {"is_host", "1"}}, Standalone: ptr(true), NProcPerNode: ptr[int32](4), MaxRestarts: ptr[int32](9)}}
	meeting := "MASTER_PORT=23456 PET_MASTER_PORT=23456 MASTER_ADDR=bert-master-0 PET_MASTER_ADDR=bert-master-0 "
	checkEnvironment(t, map[string]environmentCase{
		"master":         {py(nil, "Master:1", "Worker:3"), "Master", 0, "PYTHONUNBUFFERED=1 " + meeting + "WORLD_SIZE=4 RANK=0 PET_NODE_RANK=0 PET_NPROC_PER_NODE=auto PET_NNODES=4"},
		"worker":         {py(nil, "Master:1", "Worker:3"), "Worker", 2, "PYTHONUNBUFFERED=1 " + meeting + "WORLD_SIZE=4 RANK=3 PET_NODE_RANK=3 PET_NPROC_PER_NODE=auto PET_NNODES=4"},
		"processes":      {py(&PyTorchJobOptions{NprocPerNode: ptr("8")}, "Master:1", "Worker:3"), "Master", 0, "PYTHONUNBUFFERED=1 " + meeting + "WORLD_SIZE=32 RANK=0 PET_NODE_RANK=0 PET_NPROC_PER_NODE=8 PET_NNODES=4"},
		"own port":       {py(nil, "Master:1:1234"), "Master", 0, "PYTHONUNBUFFERED=1 " + strings.ReplaceAll(meeting, "23456", "1234") + "WORLD_SIZE=1 RANK=0 PET_NODE_RANK=0 PET_NPROC_PER_NODE=auto PET_NNODES=1"},
		"no master":      {py(nil, "Worker:3"), "Worker", 1, "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_NNODES=3"},
		"elastic":        {py(elastic, "Worker:2:4000"), "Worker", 1, "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_ENDPOINT=bert-worker-0:4000 PET_RDZV_BACKEND=c10d PET_NNODES=1:3"},
		"everything":     {py(everything, "Worker:2"), "Worker", 0, "PYTHONUNBUFFERED=1 PET_RDZV_ENDPOINT=etcd.svc:2379 PET_RDZV_BACKEND=etcd PET_NNODES=1:3 PET_MAX_RESTARTS=9 PET_NPROC_PER_NODE=4 PET_RDZV_ID=run-7 PET_RDZV_CONF=timeout=900,is_host=1 PET_STANDALONE="},
		"not standalone": {py(&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{Standalone: ptr(false), RDZVConf: []RDZVConf{}}}, "Worker:2"), "Worker", 0, "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_ENDPOINT=bert-worker-0:23456 PET_RDZV_BACKEND=c10d PET_NNODES=2:2"},
	})
}

func TestPyTorchInit(t *testing.T) {
	kind := PyTorchJob().In(training.Cluster{WaitFor: training.WaitWith("busybox:1", 7)})
	job := py(nil, "Master:1", "Worker:2")
	job.Kind = kind
	if got := kind.Init(job, job.ReplicaType("Master")); got != nil {
		t.Errorf("the master waits for itself: %s", got)
	}
	got := kind.Init(job, job.ReplicaType("Worker"))
	var c corev1.Container
	if len(got) != 1 || json.Unmarshal(got[0], &c) != nil || c.Name != training.WaitName || c.Image != "busybox:1" ||
		!strings.Contains(c.Command[2], "nslookup bert-master-0;") || !strings.Contains(c.Command[2], "-ge 7 ") || len(c.Resources.Limits)+len(c.Resources.Requests) > 0 {
		t.Errorf("got %s", got)
	}
	workers := py(nil, "Worker:2")
	workers.Kind = kind
	if got := kind.Init(workers, workers.ReplicaType("Worker")); got != nil {
		t.Errorf("workers without a master wait: %s", got)
	}
	if elsewhere := py(nil, "Master:1", "Worker:2"); elsewhere.Kind.Init(elsewhere, elsewhere.ReplicaType("Worker")) != nil {
		t.Error("a kind that knows of no cluster waits")
	}
}

func TestElasticBounds(t *testing.T) {
	one, two := ptr[int32](1), ptr[int32](2)
	for _, c := range []struct {
		low, high *int32
		min, max  int32
	}{{one, two, 1, 2}, {one, nil, 1, 1}, {nil, two, 2, 2}, {nil, nil, 5, 5}} {
		if min, max := (elasticity{low: c.low, high: c.high}).bounds(5); min != c.min || max != c.max {
			t.Errorf("got %d:%d, want %d:%d", min, max, c.min, c.max)
		}
	}
}

// TestPyTorchSizes: the environment of every container stays within the limits of a process and of an API server.
func TestPyTorchSizes(t *testing.T) {
	long := strings.Repeat("x", variableLimit)
	fits := long[len("PET_RDZV_ID="):]
	containers := func(n int) []byte {
		return []byte(`{"spec":{"containers":[` + strings.Repeat(`{"image":"a","name":"a"},`, n-1) + `{"image":"a","name":"a"}]}}`)
	}
	for name, c := range map[string]struct {
		options  *PyTorchJobOptions
		template []byte
		want     []string
	}{
		"small":           {&PyTorchJobOptions{}, containers(1), nil},
		"an ID that fits": {&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{RDZVID: ptr(fits)}}, containers(1), nil},
		"an ID":           {&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{RDZVID: ptr(fits + "x")}}, nil, []string{"spec.elasticPolicy.rdzvId"}},
		"a host":          {&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{RDZVHost: &long}}, nil, []string{"spec.elasticPolicy.rdzvHost"}},
		"a backend":       {&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{RDZVBackend: &long}}, nil, []string{"spec.elasticPolicy.rdzvBackend"}},
		"settings":        {&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{RDZVConf: []RDZVConf{{"a", long}}}}, nil, []string{"spec.elasticPolicy.rdzvConf"}},
		"processes":       {&PyTorchJobOptions{NprocPerNode: &long}, nil, []string{"spec.nprocPerNode"}},
		"nine containers": {&PyTorchJobOptions{ElasticPolicy: &ElasticPolicySpec{RDZVID: ptr(fits)}}, containers(9), []string{"spec.pytorchReplicaSpecs.Master.template.spec.containers", "spec.pytorchReplicaSpecs.Worker.template.spec.containers"}},
		"many containers": {&PyTorchJobOptions{}, containers(20_000), []string{"spec.pytorchReplicaSpecs.Master.template.spec.containers", "spec.pytorchReplicaSpecs.Worker.template.spec.containers"}},
		"some containers": {&PyTorchJobOptions{}, containers(1_000), nil},
		"no template":     {&PyTorchJobOptions{}, []byte("x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			job := py(nil, "Master:1", "Worker:2")
			for i := range job.ReplicaTypes {
				job.ReplicaTypes[i].Template = c.template
			}
			var got []string
			for _, p := range job.Kind.Lower(job, c.options) {
				if p.Code != schema.TooLarge {
					t.Errorf("%s", p)
				}
				got = append(got, p.Path)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
