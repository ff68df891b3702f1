package kinds

import (
	"slices"
	"testing"

	"stoic/training"
)

// TestVariablesAreDocumented: every variable that a job gets is documented, with whoever wins, and every documented one is
// in some job.
func TestVariablesAreDocumented(t *testing.T) {
	gpu := podWith(`{"resources":{"limits":{"nvidia.com/gpu":1}}}`)
	all := ElasticPolicySpec{RDZVID: ptr("id"), RDZVConf: []RDZVConf{{Key: "a", Value: "b"}}, Standalone: ptr(true), MaxRestarts: ptr[int32](3), NProcPerNode: ptr[int32](2)}
	jobs := []*training.Job{
		py(nil, "Master:1", "Worker:2"), py(&PyTorchJobOptions{NprocPerNode: ptr("2")}, "Worker:2"), py(&PyTorchJobOptions{ElasticPolicy: &all}, "Worker:2"),
		mpi(nil, podWith(`{}`), podWith(`{}`), 2), mpi(nil, gpu, podWith(`{}`), 2),
	}
	for _, kind := range []*training.Kind{TFJob(), XGBoostJob(), PaddleJob(), JAXJob()} {
		jobs = append(jobs, lowered(kind, "Worker"))
		if kind.ReplicaType("Master") != nil {
			jobs = append(jobs, lowered(kind, "Master", "Worker"))
		}
	}
	dotted := mpi(nil, podWith(`{}`), podWith(`{}`), 2)
	dotted.Meta.Name = "my.job"
	jobs = append(jobs, dotted)
	found := map[string]bool{}
	for _, job := range jobs {
		for i := range job.ReplicaTypes {
			for _, v := range job.Kind.Environment(job)(&job.ReplicaTypes[i], 0) {
				at := slices.IndexFunc(job.Kind.Variables, func(d training.Variable) bool { return d.Name == v.Name })
				if at < 0 {
					t.Errorf("%s: %s is not documented", job.Kind.Name, v.Name)
					continue
				}
				if documented := job.Kind.Variables[at]; documented.UserWins != v.UserWins && documented.UserWinsIf == "" {
					t.Errorf("%s: the user wins over %s: %v, documented %v", job.Kind.Name, v.Name, v.UserWins, documented.UserWins)
				}
				found[job.Kind.Name+" "+v.Name] = true
			}
		}
	}
	for _, kind := range All() {
		for _, v := range kind.Variables {
			if !found[kind.Name+" "+v.Name] {
				t.Errorf("%s: no job has %s", kind.Name, v.Name)
			}
		}
	}
}

// lowered returns a job with two replicas of each replica type.
func lowered(kind *training.Kind, names ...string) *training.Job {
	job := &training.Job{Head: &training.Head{Kind: kind}}
	job.Meta.Name = "j"
	for _, name := range names {
		job.ReplicaTypes = append(job.ReplicaTypes, training.ReplicaType{KnownReplicaType: *kind.ReplicaType(name), Replicas: 2, Template: []byte(podWith(`{}`))})
	}
	kind.Lower(job, kind.Options())
	return job
}
