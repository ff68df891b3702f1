package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// paddleManifest returns a PaddleJob with further members of spec.
func paddleManifest(name string, rtypes map[string]any, more map[string]any) string {
	spec := map[string]any{"paddleReplicaSpecs": rtypes}
	for member, value := range more {
		spec[member] = value
	}
	return string(schema.JSON(map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob", "metadata": map[string]any{"name": name}, "spec": spec}))
}

// paddleMasters: if there are masters, they decide: all of them, whatever the worker does.
func paddleMasters(t *testing.T, r *rig) {
	kind := kinds.PaddleJob()
	ns := r.namespace(t, "paddle-masters")
	r.serve(t, ns)
	r.apply(t, ns, paddleManifest("job", map[string]any{"Master": replicaTypeOf(kind, 2, "Never", nil), "Worker": replicaTypeOf(kind, 1, "Never", nil)},
		map[string]any{"runPolicy": map[string]any{"cleanPodPolicy": "None"}}))
	r.awaitState(t, ns, "job", training.Running)
	await(t, "all three pods to run", func() (bool, string) {
		counts := r.head(t, ns, "job").Status.ReplicaStatuses
		return counts["Master"].Active == 2 && counts["Worker"].Active == 1, fmt.Sprint(counts)
	})
	list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: training.LabelJobRole + "=" + training.JobRoleMaster})
	if err != nil {
		t.Fatal(err)
	}
	var masters []string
	for _, p := range list.Items {
		masters = append(masters, p.Name)
	}
	if slices.Sort(masters); !slices.Equal(masters, []string{"job-master-0", "job-master-1"}) {
		t.Errorf("the masters are %v", masters)
	}
	ends := func(pod string) { r.kubectl(t, nil, "-n", ns, "annotate", "pod", pod, "simulation.stoic/exit-code=0") }
	ends("job-master-0")
	await(t, "one master to be done", func() (bool, string) {
		counts := r.head(t, ns, "job").Status.ReplicaStatuses
		return counts["Master"].Succeeded == 1, fmt.Sprint(counts)
	})
	if head := r.head(t, ns, "job"); head.Status.Terminal() != "" {
		t.Errorf("one master of two has ended, and the job is %s", describe(&head.Status))
	}
	ends("job-master-1")
	r.awaitState(t, ns, "job", training.Succeeded)
}
