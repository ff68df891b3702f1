package v2beta1

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
)

// TestConfigSize: the computed size is an upper bound of the ConfigMap's size, and not far from it.
func TestConfigSize(t *testing.T) {
	for _, domain := range []string{"", "cluster.example"} {
		for _, implementation := range []string{openMPI, mpich} {
			for _, works := range []bool{false, true} {
				for _, workers := range []int{1, 10, 101, 2345} {
					kind := MPIJob().In(training.Cluster{Domain: domain})
					job := &training.Job{Head: &training.Head{Kind: kind, Head: schema.Head{Meta: metav1.ObjectMeta{Name: "pi", Namespace: "team-a"}}},
						Own: mpiJob{slots: 16, launcherWorks: works, implementation: implementation}}
					for i, known := range kind.ReplicaTypes {
						job.ReplicaTypes = append(job.ReplicaTypes, training.ReplicaType{KnownReplicaType: known, Replicas: []int{1, workers}[i]})
					}
					running := training.RunningReplicas{}
					for i := range workers {
						running[worker] = training.Present{Running: append(running[worker].Running, i)}
					}
					written := len(hosts(job)) + len(discovery(job, running))
					if bound := configSize(job, ownOf(job)); bound < written || bound > written+written/10+1<<10 {
						t.Errorf("%d workers, %s: %d bytes, said to be %d", workers, implementation, written, bound)
					}
				}
			}
		}
	}
}

// TestVariablesAreDocumented: every variable that a job gets is documented, with whoever wins, and every documented one is in some job.
func TestVariablesAreDocumented(t *testing.T) {
	found := map[string]bool{}
	for _, implementation := range []string{openMPI, intel, mpich} {
		kind := MPIJob()
		job := &training.Job{Head: &training.Head{Kind: kind}}
		for _, known := range kind.ReplicaTypes {
			job.ReplicaTypes = append(job.ReplicaTypes, training.ReplicaType{KnownReplicaType: known, Replicas: 1})
		}
		kind.Lower(job, &MPIJobOptions{MPIImplementation: &implementation})
		for i := range job.ReplicaTypes {
			for _, v := range kind.Environment(job)(&job.ReplicaTypes[i], 0) {
				at := slices.IndexFunc(kind.Variables, func(d training.Variable) bool { return d.Name == v.Name })
				if at < 0 || kind.Variables[at].UserWins != v.UserWins {
					t.Errorf("%s: %s is not documented so, user wins %v", implementation, v.Name, v.UserWins)
				}
				found[v.Name] = true
			}
		}
	}
	for _, v := range MPIJob().Variables {
		if !found[v.Name] {
			t.Errorf("no job has %s", v.Name)
		}
	}
}

// TestServiceSpec: the Service declares what the launcher and the workers declare, each number once.
func TestServiceSpec(t *testing.T) {
	job := &training.Job{Head: &training.Head{Kind: MPIJob(), Head: schema.Head{Meta: metav1.ObjectMeta{Name: "pi"}}}}
	for _, known := range MPIJob().ReplicaTypes {
		job.ReplicaTypes = append(job.ReplicaTypes, training.ReplicaType{KnownReplicaType: known})
	}
	spec := serviceSpec(job)
	if _, isSet := spec["ports"]; isSet || string(spec["publishNotReadyAddresses"]) != "true" {
		t.Errorf("without ports: %s", spec)
	}
	job.ReplicaTypes[0].Ports = []training.Port{{Name: "port-22", Number: 22}, {Name: "metrics", Number: 9100}}
	job.ReplicaTypes[1].Ports = []training.Port{{Name: "ssh", Number: 22}, {Name: "metrics", Number: 9200}}
	want := `[{"name":"port-22","port":22},{"name":"metrics","port":9100},{"name":"port-9200","port":9200}]`
	if got := string(serviceSpec(job)["ports"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
