package integration

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"stoic/training"
)

func happyPath(t *testing.T, r *rig) {
	ns := r.namespace(t, "happy")
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("mnist", `
  runPolicy: {cleanPodPolicy: Running}
  tfReplicaSpecs:
    PS:
      replicas: 1
      template:
        spec:
          containers: [{name: tensorflow, image: "training:1"}]
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        metadata:
          labels: {team: a}
          annotations: {simulation.stoic/exit-code: "0", simulation.stoic/run-for: 4s}
        spec:
          containers:
            - {name: sidecar, image: "sidecar:1"}
            - name: tensorflow
              image: training:1
              env: [{name: A, value: b}]
              ports: [{name: tfjob-port, containerPort: 3333}, {name: http, containerPort: 80}]
`))
	running := r.awaitState(t, ns, "mnist", training.Running)
	if got, want := describe(&running.Status), "Created=True(TFJobCreated) Running=True(TFJobRunning)"; got != want {
		t.Errorf("conditions while running: %s, want %s", got, want)
	}
	checkChildren(t, r, ns, string(running.Meta.UID))

	head := r.awaitState(t, ns, "mnist", training.Succeeded)
	if got, want := describe(&head.Status), "Created=True(TFJobCreated) Running=False(TFJobRunning) Succeeded=True(TFJobSucceeded)"; got != want {
		t.Errorf("conditions at the end: %s, want %s", got, want)
	}
	if head.Status.StartTime == nil || head.Status.CompletionTime == nil {
		t.Errorf("times: start %v, completion %v, want both", head.Status.StartTime, head.Status.CompletionTime)
	}
	if r.keepsGeneration && head.Status.ObservedGeneration != head.Meta.Generation {
		t.Errorf("observedGeneration is %d, want %d", head.Status.ObservedGeneration, head.Meta.Generation)
	}
	await(t, "the parameter server to be deleted", func() (bool, string) {
		pods := r.pods(t, ns, "mnist")
		_, there := pods["mnist-ps-0"]
		return !there, fmt.Sprint(pods)
	})
	for counter, want := range map[string]float64{"created": 1, "successful": 1, "failed": 0, "rejected": 0} {
		if got, _ := p.metric(t, "training_operator_jobs_"+counter+"_total"); got != want {
			t.Errorf("training_operator_jobs_%s_total is %v, want %v", counter, got, want)
		}
	}
	for _, family := range []string{"workqueue_adds_total", "rest_client_requests_total", "training_operator_build_info"} {
		if _, found := p.metric(t, family); !found {
			t.Errorf("no metric %s", family)
		}
	}
	if code := p.Probe(t.Context(), "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
}

// checkChildren compares the pods and services of the happy path with contract.md, field by field.
func checkChildren(t *testing.T, r *rig, ns, uid string) {
	t.Helper()
	ctx := context.Background()
	cluster := fmt.Sprintf(`{"cluster":{"ps":["mnist-ps-0.%[1]s.svc:2222"],"worker":["mnist-worker-0.%[1]s.svc:3333","mnist-worker-1.%[1]s.svc:3333"]}`, ns)
	labels := func(rtype string, index int, more ...string) map[string]string {
		m := map[string]string{"training.kubeflow.org/operator-name": "tfjob-controller", "training.kubeflow.org/job-name": "mnist",
			"training.kubeflow.org/replica-type": rtype, "training.kubeflow.org/replica-index": fmt.Sprint(index)}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	yes := true
	owners := []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: "mnist", UID: types.UID(uid), Controller: &yes, BlockOwnerDeletion: &yes}}
	for _, want := range []struct {
		rtype, restart string
		index          int
		labels         map[string]string
		env            []string
		ports          []string
	}{
		{"ps", "Never", 0, labels("ps", 0), []string{"TF_CONFIG=" + cluster + `,"task":{"type":"ps","index":0},"environment":"cloud"}`}, []string{"tfjob-port=2222"}},
		{"worker", "OnFailure", 0, labels("worker", 0, "team", "a", "training.kubeflow.org/job-role", "master"),
			[]string{"A=b", "TF_CONFIG=" + cluster + `,"task":{"type":"worker","index":0},"environment":"cloud"}`}, []string{"tfjob-port=3333", "http=80"}},
		{"worker", "OnFailure", 1, labels("worker", 1, "team", "a"),
			[]string{"A=b", "TF_CONFIG=" + cluster + `,"task":{"type":"worker","index":1},"environment":"cloud"}`}, []string{"tfjob-port=3333", "http=80"}},
	} {
		name := fmt.Sprintf("mnist-%s-%d", want.rtype, want.index)
		pod, err := r.typed.CoreV1().Pods(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("get pod: %v", err)
		}
		delete(pod.Labels, "topology.kubernetes.io/zone") // the API server's own, from the node
		var env, ports []string
		for _, c := range pod.Spec.Containers {
			for _, e := range c.Env {
				env = append(env, e.Name+"="+e.Value)
			}
			for _, p := range c.Ports {
				ports = append(ports, fmt.Sprintf("%s=%d", p.Name, p.ContainerPort))
			}
		}
		if diff := cmp.Diff([]any{want.labels, owners, want.restart, want.env, want.ports},
			[]any{pod.Labels, pod.OwnerReferences, string(pod.Spec.RestartPolicy), env, ports}); diff != "" {
			t.Errorf("pod %s (-want +got):\n%s", name, diff)
		}
		service, err := r.typed.CoreV1().Services(ns).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("get service: %v", err)
		}
		plain := labels(want.rtype, want.index)
		var servicePorts []string
		for _, p := range service.Spec.Ports {
			servicePorts = append(servicePorts, fmt.Sprintf("%s=%d", p.Name, p.Port))
			if p.TargetPort.IntVal != p.Port {
				t.Errorf("service %s: target port of %s is %s", name, p.Name, p.TargetPort.String())
			}
		}
		slices.Sort(servicePorts)
		wantPorts := slices.Sorted(slices.Values(want.ports))
		if diff := cmp.Diff([]any{plain, plain, owners, "None", wantPorts},
			[]any{service.Labels, service.Spec.Selector, service.OwnerReferences, service.Spec.ClusterIP, servicePorts}); diff != "" {
			t.Errorf("service %s (-want +got):\n%s", name, diff)
		}
	}
}

func failingJob(t *testing.T, r *rig) {
	ns := r.namespace(t, "failing")
	p := r.serve(t, ns)
	r.apply(t, ns, manifest("broken", strings.Replace(worker("", "restartPolicy: Never"), `exit-code: "0"`, `exit-code: "3"`, 1)))
	head := r.awaitState(t, ns, "broken", training.Failed)
	if got, want := describe(&head.Status), `^Created=True\(TFJobCreated\) (Running=False\(TFJobRunning\) )?Failed=True\(TFJobFailed\)$`; !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("conditions: %s, want %s", got, want)
	}
	if message := head.Status.Condition(training.Failed).Message; !strings.HasPrefix(message, "TFJob failing/broken has failed because 1 Worker replica(s) failed. First: pod broken-worker-0, container tensorflow, exit code 3") {
		t.Errorf("message: %s", message)
	}
	await(t, "a Warning event", func() (bool, string) {
		events := r.events(t, ns, "broken")
		return slices.ContainsFunc(events, func(e event) bool { return e.Type == "Warning" && e.Reason == "TFJobFailed" }), fmt.Sprint(events)
	})
	if got, _ := p.metric(t, "training_operator_jobs_failed_total", `framework="tensorflow"`, `job_namespace="failing"`); got != 1 {
		t.Errorf("training_operator_jobs_failed_total is %v, want 1", got)
	}
}

func suspendedAndResumed(t *testing.T, r *rig) {
	ns := r.namespace(t, "suspended")
	r.serve(t, ns)
	spec := func(suspend bool) string {
		return fmt.Sprintf("\n  runPolicy: {suspend: %v}", suspend) + worker("", "")
	}
	r.apply(t, ns, manifest("job", spec(true)))
	head := r.awaitState(t, ns, "job", training.Suspended)
	if head.Status.StartTime != nil || len(r.pods(t, ns, "job")) > 0 {
		t.Errorf("a suspended job has started: %+v", head.Status)
	}
	r.apply(t, ns, manifest("job", spec(false)))
	head = r.awaitState(t, ns, "job", training.Succeeded)
	if c := head.Status.Condition(training.Suspended); c == nil || c.Status != metav1.ConditionFalse || c.Reason != "TFJobResumed" {
		t.Errorf("conditions: %s", describe(&head.Status))
	}
}
