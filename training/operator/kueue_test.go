package operator

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/apimodel"
	"stoic/training"
	"stoic/training/kinds"
)

// admission is what Kueue adds to the pod templates when it starts a job, in the same patch.
func admission() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"kueue.x-k8s.io/podset": "all"}, "annotations": map[string]any{"kueue.x-k8s.io/workload": "job-pi"}},
		"spec": map[string]any{"nodeSelector": map[string]any{"pool": "a100"}, "schedulingGates": []any{map[string]any{"name": "kueue.x-k8s.io/topology"}},
			"tolerations": []any{map[string]any{"key": "gpu", "operator": "Exists"}}},
	}
}

// admit starts or stops a job as Kueue does: one patch of suspend and of every template.
func (p *plane) admit(suspend bool, into map[string]any) {
	p.t.Helper()
	roles := map[string]any{}
	for name := range apimodel.Get(p.stored(), "spec", p.kind.ReplicaSpecsField).(map[string]any) {
		roles[name] = map[string]any{"template": into}
	}
	p.patch(map[string]any{"spec": map[string]any{"runPolicy": map[string]any{"suspend": suspend}, p.kind.ReplicaSpecsField: roles}})
}

// TestStartedByKueue: the pods of a job that Kueue starts have everything that Kueue added to its templates, and a job that it
// stops has no pods. If the job is started again without these additions, its pods have none of them.
func TestStartedByKueue(t *testing.T) {
	for _, kind := range kinds.Served() {
		t.Run(kind.APIVersion()+" "+kind.Name, func(t *testing.T) {
			p := newPlane(t, kind)
			p.submit(nil, "suspend")
			p.settle()
			if pods := p.pods(); len(pods) > 0 {
				t.Fatalf("%d pods of a suspended job", len(pods))
			}
			p.wait(time.Minute)
			p.admit(false, admission())
			p.settle()
			p.run()
			p.eachPod(t, true)
			p.wait(time.Minute)
			p.admit(true, map[string]any{"metadata": nil, "spec": map[string]any{"nodeSelector": nil, "schedulingGates": nil, "tolerations": nil}})
			p.settle()
			p.stopJobs()
			if pods := p.pods(); len(pods) > 0 || !p.status().Is(training.Suspended) {
				t.Fatalf("%d pods of a job that was stopped: %+v", len(pods), p.status().Conditions)
			}
			p.wait(time.Minute)
			p.patch(policy("suspend", false))
			p.settle()
			p.run()
			p.eachPod(t, false)
		})
	}
}

// eachPod checks that each pod of the running job has, or lacks, what Kueue adds.
func (p *plane) eachPod(t *testing.T, admitted bool) {
	t.Helper()
	wanted := 0
	for _, r := range specOf(p.kind, nil)[p.kind.ReplicaSpecsField].(map[string]any) {
		wanted++
		if r.(map[string]any)["replicas"] != nil {
			wanted++
		}
	}
	if pods := p.pods(); len(pods) != wanted || !p.status().Is(training.Running) {
		t.Errorf("%d pods, want %d: %+v", len(pods), wanted, p.status().Conditions)
	}
	for _, pod := range p.pods() {
		ofJob := metav1.GetControllerOf(&unstructured.Unstructured{Object: pod}).Kind == "Job"
		for what, has := range map[string]bool{
			"the label":      apimodel.Get(pod, "metadata", "labels", "kueue.x-k8s.io/podset") == "all",
			"the annotation": apimodel.Get(pod, "metadata", "annotations", "kueue.x-k8s.io/workload") == "job-pi",
			"the node":       apimodel.Get(pod, "spec", "nodeSelector", "pool") == "a100",
			"the gate":       apimodel.Get(pod, "spec", "schedulingGates") != nil,
			"the toleration": apimodel.Get(pod, "spec", "tolerations") != nil,
		} {
			if metadata := what == "the label" || what == "the annotation"; ofJob && metadata && !admitted {
				continue // a label of a Job that its MPIJob does not name may be that of the controller of Jobs, and stays
			}
			if has != admitted {
				t.Errorf("%s has %s: %v", apimodel.Get(pod, "metadata", "name"), what, has)
			}
		}
	}
}

// stopJobs deletes the pods of suspended Jobs, as the Job controller does.
func (p *plane) stopJobs() {
	p.t.Helper()
	for _, job := range p.model.Objects("jobs") {
		u := &unstructured.Unstructured{Object: job}
		if apimodel.Get(job, "spec", "suspend") != true {
			p.t.Errorf("Job %s is not suspended", u.GetName())
		}
		for _, pod := range p.pods() {
			if name := apimodel.Get(pod, "metadata", "name").(string); strings.HasPrefix(name, u.GetName()) && strings.HasSuffix(name, "-x") {
				p.request(http.MethodDelete, path("", "v1", "pods", name), asJSON, map[string]any{})
				p.request(http.MethodPatch, path("batch", "v1", "jobs", u.GetName())+"/status", asMerge, map[string]any{"status": map[string]any{"active": 0}})
			}
		}
	}
	p.settle()
}
