package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"stoic/training"
	"stoic/training/kinds"
)

// elastic returns a PyTorchJob with one worker that runs for a while.
func elastic(name, metrics, policy string) string {
	return fmt.Sprintf(`apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: %s}
spec:
  runPolicy: {%s}
  elasticPolicy: {minReplicas: 1, maxReplicas: 3, %s}
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          containers: [{name: pytorch, image: training:1}]
`, name, policy, metrics)
}

const averageOf500m = `metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: "0.5"}}}]`

// TestAutoscaler: the autoscaler of an elastic job is created, follows the job and is deleted with it. The API server's own
// defaults and spellings cause no write.
func TestAutoscaler(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	r := withOperator(t).of(kinds.PyTorchJob())
	ns := r.namespace(t, "autoscaler")
	p := r.serve(t, ns)
	patch := func(text string) {
		t.Helper()
		r.kubectl(t, nil, "-n", ns, "patch", "pytorchjob", "job", "--type=merge", "-p", text)
	}
	r.apply(t, ns, elastic("job", averageOf500m, ""))
	found := r.awaitDependent(t, training.Autoscalers(), ns, "job", true)
	r.awaitPods(t, ns, "job", 1)
	first := found.GetUID()
	want := `{"maxReplicas":3,"metrics":[{"resource":{"name":"cpu","target":{"averageValue":"500m","type":"AverageValue"}},"type":"Resource"}],` +
		`"minReplicas":1,"scaleTargetRef":{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","name":"job"}}`
	if spec, _ := json.Marshal(found.Object["spec"]); string(spec) != want {
		t.Errorf("its spec is\n%s, want\n%s", spec, want)
	}

	// A reconcile that does not concern it, and a change that does.
	patch(`{"spec":{"runPolicy":{"backoffLimit":5}}}`)
	r.kubectl(t, nil, "-n", ns, "wait", "pytorchjob/job", "--for=jsonpath={.status.observedGeneration}=2", "--timeout=3m")
	if n := r.written(t, ns, "patch", "horizontalpodautoscalers"); n > 0 {
		t.Errorf("it was updated %d times for nothing", n)
	}
	patch(`{"spec":{"elasticPolicy":{"maxReplicas":5,"metrics":[]}}}`)
	await(t, "it to follow", func() (bool, string) {
		spec, _ := json.Marshal(r.awaitDependent(t, training.Autoscalers(), ns, "job", true).Object["spec"])
		return strings.Contains(string(spec), `"maxReplicas":5`) && strings.Contains(string(spec), `"averageUtilization":80`) && !strings.Contains(string(spec), "averageValue"), string(spec)
	})

	patch(`{"spec":{"runPolicy":{"suspend":true}}}`)
	r.awaitDependent(t, training.Autoscalers(), ns, "job", false)
	patch(`{"spec":{"runPolicy":{"suspend":false}}}`)
	if again := r.awaitDependent(t, training.Autoscalers(), ns, "job", true); again.GetUID() == first {
		t.Error("it was not recreated")
	}
	r.awaitPods(t, ns, "job", 1)
	patch(`{"spec":{"elasticPolicy":{"metrics":null}}}`)
	r.awaitDependent(t, training.Autoscalers(), ns, "job", false)
	patch(`{"spec":{"elasticPolicy":{"metrics":[]}}}`)
	r.awaitDependent(t, training.Autoscalers(), ns, "job", true)
	patch(`{"spec":{"runPolicy":{"activeDeadlineSeconds":1}}}`)
	r.kubectl(t, nil, "-n", ns, "wait", "pytorchjob/job", "--for=condition=Failed", "--timeout=3m")
	r.awaitDependent(t, training.Autoscalers(), ns, "job", false)
	if n := r.written(t, ns, "patch", "horizontalpodautoscalers"); n != 1 {
		t.Errorf("it was updated %d times for one change", n)
	}
	t.Run("refused", func(t *testing.T) { refusedAutoscaler(t, r) })
	if n, _ := p.metric(t, `training_operator_kind_served{kind="HorizontalPodAutoscaler"}`); n != 1 {
		t.Errorf("the metric says that autoscalers are served: %v", n)
	}
}

// refusedAutoscaler: the API server rejects the user's autoscaler; the job runs without one, and an event reports it.
func refusedAutoscaler(t *testing.T, r *rig) {
	const ns = "autoscaler"
	began := time.Now()
	r.apply(t, ns, elastic("refused", "metrics: [{type: Resource}]", ""))
	r.awaitReason(t, ns, "refused", training.ReasonCreateAutoscalerFailed)
	r.awaitPods(t, ns, "refused", 1)
	count := 0
	for _, q := range r.requestsIn(t, ns) {
		if q.Verb == "create" && q.ObjectRef.Resource == "horizontalpodautoscalers" && q.ResponseStatus.Code >= 400 && q.Received.After(began) {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d requests that cannot succeed", count)
	}
}
