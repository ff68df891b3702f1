package v2beta1

import (
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
