package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"stoic/schema"
	"stoic/training"
)

// strict decodes an object like the API server of its version, and fails on unknown fields.
func strict(t *testing.T, body []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Errorf("%v: %s", err, body)
	}
}

// TestNativeV1Beta1 decodes the objects with the types of Kubernetes 1.37. The integration tests create them on a real API
// server, nightly also on 1.36.
func TestNativeV1Beta1(t *testing.T) {
	w := newCluster()
	two := int64(2)
	w.knobs = knobs{Native: "v1beta1", MinAvailable: &two, PriorityClass: "high", ReplicaTypes: map[string]replicaTypeKnobs{"Worker": {}}}
	first := Make(w.observe())
	if len(first.Create) != 2 {
		t.Fatalf("made before the pods: %+v", first.Create)
	}
	var workload schedulingv1beta1.Workload
	var group schedulingv1beta1.PodGroup
	strict(t, first.Create[0].Body, &workload)
	strict(t, first.Create[1].Body, &group)
	gang := schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}}
	if diff := cmp.Diff(schedulingv1beta1.WorkloadSpec{ControllerRef: &schedulingv1beta1.TypedLocalObjectReference{APIGroup: "kubeflow.org", Kind: "TFJob", Name: "j"},
		PodGroupTemplates: []schedulingv1beta1.PodGroupTemplate{{Name: "pods", SchedulingPolicy: gang, PriorityClassName: "high"}}}, workload.Spec); diff != "" {
		t.Errorf("the Workload (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schedulingv1beta1.PodGroupSpec{WorkloadRef: &schedulingv1beta1.WorkloadReference{WorkloadName: "j", TemplateName: "pods"},
		SchedulingPolicy: gang, PriorityClassName: "high"}, group.Spec); diff != "" {
		t.Errorf("the PodGroup (-want +got):\n%s", diff)
	}
	if err := w.apply(first); err != nil {
		t.Fatal(err)
	}
	for _, c := range Make(w.observe()).Create {
		if c.Resource == schema.Pods() {
			var pod corev1.Pod
			strict(t, c.Body, &pod)
			if g := pod.Spec.SchedulingGroup; g == nil || *g.PodGroupName != "j" || pod.Spec.SchedulerName != "" {
				t.Errorf("the pod: %s", c.Body)
			}
			return
		}
	}
	t.Error("no pods")
}

// TestNativeTwoVersionsServed: both versions show the same objects, so only one is read.
func TestNativeTwoVersionsServed(t *testing.T) {
	w := newCluster()
	w.knobs = knobs{Native: "v1beta1", ReplicaTypes: map[string]replicaTypeKnobs{"Worker": {}}}
	w.step(t)
	o := w.observe()
	o.Unavailable = nil
	for _, stored := range slices.Clone(o.Dependents) {
		stored.Resource.Version, stored.Spec = "v1alpha2", []byte(`{"schedulingPolicy":{"gang":{"minCount":9}}}`)
		o.Dependents = append(o.Dependents, stored)
	}
	p := Make(o)
	if len(p.Delete)+len(p.Patch) > 0 || len(p.Create) != 2 {
		t.Errorf("%+v", p)
	}
	o.Unavailable = []training.Unavailable{{Resource: training.NativeVersions()[0].Kinds[0]}} // it is not known yet
	if p := Make(o); len(p.Delete)+len(p.Patch)+len(p.Create)+len(p.Events) > 0 {
		t.Errorf("before it is known what is served: %+v", p)
	}
}

// TestNewPodsOfAGang: the scheduler counts members that have not ended. If too few are left, a new pod is scheduled on its own.
func TestNewPodsOfAGang(t *testing.T) {
	for name, c := range map[string]struct {
		pods    map[string]string
		edit    string
		inGroup bool
	}{
		"a member failed":                            {map[string]string{"worker-0": "Running", "worker-1": "Running", "worker-2": "gone"}, `{}`, true},
		"one has succeeded":                          {map[string]string{"worker-0": "Succeeded exit=0", "worker-1": "Running", "worker-2": "gone"}, `{}`, false},
		"one has succeeded that need not be there":   {map[string]string{"worker-0": "Succeeded exit=0", "worker-1": "Running", "worker-2": "gone"}, `{"minAvailable":2}`, true},
		"scaled in, and the group cannot follow":     {map[string]string{"worker-0": "Running", "worker-1": "gone", "worker-2": "Running"}, `{"replicaTypes":{"Worker":{"replicas":2,"restart":"OnFailure"}}}`, false},
		"scaled in, and no pod is left":              {map[string]string{"worker-0": "gone", "worker-1": "gone", "worker-2": "gone"}, `{"replicaTypes":{"Worker":{"replicas":1,"restart":"OnFailure"}}}`, false},
		"scaled in before any pod ran":               {map[string]string{"worker-1": "gone"}, `{"replicaTypes":{"Worker":{"replicas":2,"restart":"OnFailure"}}}`, true},
		"more members than there are, as was wanted": {map[string]string{"worker-1": "gone"}, `{"minAvailable":9}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, three := newCluster(), 3
			w.knobs = knobs{Native: "v1alpha2", ReplicaTypes: map[string]replicaTypeKnobs{"Worker": {Replicas: &three, Restart: "OnFailure"}}, SuccessPolicy: "AllWorkers"}
			if strings.Contains(c.edit, "minAvailable") {
				if err := json.Unmarshal([]byte(c.edit), &w.knobs); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				w.step(t)
			}
			if c.pods["worker-0"] != "" { // the job has run
				w.change(t, 1, step{Pods: map[string]string{"ALL": "Running"}})
				w.step(t)
			}
			w.change(t, 1, step{Edit: json.RawMessage(c.edit), Pods: c.pods, After: 60})
			o := w.observe()
			p := Make(o)
			checkPlan(t, o, p)
			made := slices.DeleteFunc(p.Create, func(o schema.Object) bool { return o.Resource != schema.Pods() })
			if len(made) != 1 || bytes.Contains(made[0].Body, []byte(`"schedulingGroup":{"podGroupName":"j"}`)) != c.inGroup {
				t.Errorf("want one pod in the group: %v; made %+v", c.inGroup, made)
			}
		})
	}
}
