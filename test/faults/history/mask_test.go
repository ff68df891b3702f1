package history

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// batchRun returns a run of a job whose launcher a batch/v1 Job runs: everything generated in it begins with a given word.
func batchRun(job, drawn, phase string) *Run {
	object := func(kind, name, owner string, more map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: more}
		u.SetKind(kind)
		u.SetName(name)
		u.SetUID(types.UID(drawn + "-" + kind + "-" + name))
		if yes := true; owner != "" {
			u.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Owner", Name: "owner", UID: types.UID(drawn + "-" + owner), Controller: &yes}})
		}
		return u
	}
	mpi := schema.GroupVersionResource{Group: "kubeflow.org", Version: "v2beta1", Resource: "mpijobs"}
	of := func(plural string) schema.GroupVersionResource { return schema.GroupVersionResource{Resource: plural} }
	batch := object("Job", job+"-launcher", "MPIJob-"+job, map[string]any{"status": map[string]any{"failed": int64(1), "conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}})
	batch.SetAnnotations(map[string]string{hashAnnotation: drawn})
	versions := []Version{
		{Type: watch.Added, Resource: mpi, Object: object("MPIJob", job, "", map[string]any{})},
		{Type: watch.Added, Resource: of("jobs"), Object: batch},
		{Type: watch.Added, Resource: of("secrets"), Object: object("Secret", job+"-ssh", "MPIJob-"+job, map[string]any{"data": map[string]any{"ssh-privatekey": drawn}})},
	}
	for i, phase := range []string{"Failed", phase} {
		pod := object("Pod", fmt.Sprint(job, "-launcher-", drawn[:1+i]), "Job-"+job+"-launcher", map[string]any{"status": map[string]any{"phase": phase}})
		pod.SetGenerateName(job + "-launcher-")
		pod.SetLabels(map[string]string{"batch.kubernetes.io/controller-uid": string(batch.GetUID())})
		versions = append(versions, Version{Type: watch.Added, Resource: of("pods"), Object: pod})
	}
	return Of(Subject{Resource: mpi, Name: job}, versions...)
}

// TestDigestOfWhatIsDrawn: generated names and keys make no difference between two runs; the state of the pods does.
func TestDigestOfWhatIsDrawn(t *testing.T) {
	digest := func(r *Run) string { return r.View().Digest(JobStatus) }
	if diff := cmp.Diff(digest(batchRun("one", "alpha", "Succeeded")), digest(batchRun("two", "zulu", "Succeeded"))); diff != "" {
		t.Errorf("two runs that differ in what is drawn alone:\n%s", diff)
	}
	if digest(batchRun("one", "alpha", "Succeeded")) == digest(batchRun("one", "alpha", "Running")) {
		t.Error("a pod that runs is taken for one that has succeeded")
	}
	other := batchRun("one", "alpha", "Succeeded")
	pod := other.View().Pods[0].DeepCopy()
	yes := true
	pod.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Owner", Name: "owner", UID: "nobody", Controller: &yes}})
	other.add(Version{Type: watch.Modified, Resource: schema.GroupVersionResource{Resource: "pods"}, Object: pod})
	if digest(other) == digest(batchRun("one", "alpha", "Succeeded")) {
		t.Error("a pod whose Job is gone is taken for one whose Job is there")
	}
}

// TestNameOf: the generated part of a name is left out, and nothing of any other name.
func TestNameOf(t *testing.T) {
	for _, c := range [][3]string{{"j-launcher-x7k2p", "j-launcher-", "j-launcher-GENERATED"}, {"j-worker-0", "", "j-worker-0"}, {"j-other", "j-launcher-", "j-other"}} {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetName(c[0])
		u.SetGenerateName(c[1])
		if got := NameOf(u); got != c[2] {
			t.Errorf("%s: %s", c[0], got)
		}
	}
}
