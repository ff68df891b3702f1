package integration

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/schema"
)

// The three shapes of the CRD that the operator must live with.

func TestWithOurCRD(t *testing.T) { suite(t, filepath.Join(root, "deploy/crd/tfjobs.yaml"), true) }

func TestWithCRDOfTrainingOperator194(t *testing.T) {
	suite(t, filepath.Join(root, "test/fixtures/tfjobs-v1.9.4-shape.yaml"), false)
}

func TestWithOpenCRD(t *testing.T) { suite(t, "", true) }

// suite runs every scenario on one control plane, each in namespaces of its own and, but for the first, with an
// operator of its own that serves only these.
func suite(t *testing.T, shape string, keepsGeneration bool) {
	r := newRig(t, shape, func(r *rig) {
		r.storeNonsense(t, "stored")
		r.storeNonsense(t, "repaired")
		r.storeNonsense(t, "deleted")
	})
	r.keepsGeneration, r.structural = keepsGeneration, shape != ""
	t.Run("scenarios", func(t *testing.T) {
		for name, scenario := range map[string]func(*testing.T, *rig){
			"happy path":                    happyPath,
			"failing job":                   failingJob,
			"malformed objects stored":      malformedStored,
			"rejected, then repaired":       rejectedThenRepaired,
			"running, nonsense, repaired":   runningThenNonsense,
			"malformed object deleted":      malformedDeleted,
			"operator killed and restarted": killedAndRestarted,
			"deleted and made anew":         deletedAndRecreated,
			"status edited by somebody":     statusEdited,
			"foreign pod under our name":    foreignPod,
			"suspended and resumed":         suspendedAndResumed,
			"unknown fields reach the pod":  unknownFields,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				scenario(t, r)
			})
		}
	})
	t.Run("conduct", func(t *testing.T) { conduct(t, r) })
}

// storeNonsense makes a namespace and stores every malformed spec in it.
func (r *rig) storeNonsense(t *testing.T, ns string) {
	t.Helper()
	var all []string
	for _, m := range nonsense() {
		all = append(all, manifest(m.name, m.spec))
	}
	r.namespace(t, ns)
	r.kubectl(t, []byte(strings.Join(all, "\n---\n")), "-n", ns, "create", "-f", "-")
}

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
	running := r.awaitState(t, ns, "mnist", schema.Running)
	if got, want := describe(&running.Status), "Created=True(TFJobCreated) Running=True(TFJobRunning)"; got != want {
		t.Errorf("conditions while running: %s, want %s", got, want)
	}
	checkChildren(t, r, ns, string(running.Meta.UID))

	head := r.awaitState(t, ns, "mnist", schema.Succeeded)
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
	if code := get("http://" + p.probes + "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
}

// checkChildren compares the pods and services of the happy path with contract.md, field by field.
func checkChildren(t *testing.T, r *rig, ns, uid string) {
	t.Helper()
	ctx := context.Background()
	cluster := fmt.Sprintf(`{"cluster":{"ps":["mnist-ps-0.%[1]s.svc:2222"],"worker":["mnist-worker-0.%[1]s.svc:3333","mnist-worker-1.%[1]s.svc:3333"]}`, ns)
	labels := func(role string, index int, more ...string) map[string]string {
		m := map[string]string{"training.kubeflow.org/operator-name": "tfjob-controller", "training.kubeflow.org/job-name": "mnist",
			"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": fmt.Sprint(index)}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	yes := true
	owners := []metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: "mnist", UID: types.UID(uid), Controller: &yes, BlockOwnerDeletion: &yes}}
	for _, want := range []struct {
		role, restart string
		index         int
		labels        map[string]string
		env           []string
		ports         []string
	}{
		{"ps", "Never", 0, labels("ps", 0), []string{"TF_CONFIG=" + cluster + `,"task":{"type":"ps","index":0},"environment":"cloud"}`}, []string{"tfjob-port=2222"}},
		{"worker", "OnFailure", 0, labels("worker", 0, "team", "a", "training.kubeflow.org/job-role", "master"),
			[]string{"A=b", "TF_CONFIG=" + cluster + `,"task":{"type":"worker","index":0},"environment":"cloud"}`}, []string{"tfjob-port=3333", "http=80"}},
		{"worker", "OnFailure", 1, labels("worker", 1, "team", "a"),
			[]string{"A=b", "TF_CONFIG=" + cluster + `,"task":{"type":"worker","index":1},"environment":"cloud"}`}, []string{"tfjob-port=3333", "http=80"}},
	} {
		name := fmt.Sprintf("mnist-%s-%d", want.role, want.index)
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
		plain := labels(want.role, want.index)
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
	p := r.operator(t, ns)
	r.apply(t, ns, manifest("broken", strings.Replace(worker("", "restartPolicy: Never"), `exit-code: "0"`, `exit-code: "3"`, 1)))
	head := r.awaitState(t, ns, "broken", schema.Failed)
	if got, want := describe(&head.Status), `^Created=True\(TFJobCreated\) (Running=False\(TFJobRunning\) )?Failed=True\(TFJobFailed\)$`; !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("conditions: %s, want %s", got, want)
	}
	if message := head.Status.Condition(schema.Failed).Message; message != "TFJob failing/broken has failed because 1 Worker replica(s) failed." {
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

// checkRejected waits until a job that never started is rejected as architecture.md says, and its author told.
func checkRejected(t *testing.T, r *rig, ns string, m malformed) {
	t.Helper()
	if r.structural && m.pruned != "" {
		m.path = m.pruned
	}
	if !r.structural || !m.mute {
		checkConditions(t, r, ns, m)
	}
	checkTold(t, r, ns, m)
	if pods := r.pods(t, ns, m.name); len(pods) > 0 {
		t.Errorf("%s: has pods: %v", m.name, pods)
	}
}

// checkConditions: the record of a rejection.
func checkConditions(t *testing.T, r *rig, ns string, m malformed) {
	t.Helper()
	want := "Stalled=True(InvalidSpec) Failed=True(InvalidSpec)"
	await(t, ns+"/"+m.name+" to be rejected", func() (bool, string) {
		got := describe(&r.head(t, ns, m.name).Status)
		return got == want, got
	})
	head := r.head(t, ns, m.name)
	message := head.Status.Condition(schema.Failed).Message
	if !strings.Contains(message, m.path+": ") || !strings.Contains(message, "no pods were created") {
		t.Errorf("%s: the condition does not name %s: %s", m.name, m.path, message)
	}
	if head.Status.CompletionTime != nil || head.Status.StartTime != nil {
		t.Errorf("%s: a job that never started has times", m.name)
	}
	if r.keepsGeneration && head.Status.ObservedGeneration != head.Meta.Generation {
		t.Errorf("%s: observedGeneration is %d, want %d", m.name, head.Status.ObservedGeneration, head.Meta.Generation)
	}
}

// checkTold: the sentences to the author, each once.
func checkTold(t *testing.T, r *rig, ns string, m malformed) {
	t.Helper()
	var events []event
	await(t, "the event of "+m.name, func() (bool, string) {
		events = r.events(t, ns, m.name)
		return slices.ContainsFunc(events, func(e event) bool {
			return e.Type == "Warning" && e.Reason == "TFJobFailedValidation" && e.Path == m.path && strings.HasPrefix(e.Message, m.path+": ")
		}), fmt.Sprint(events)
	})
	seen := map[event]bool{}
	for _, e := range events {
		if seen[e] {
			t.Errorf("%s: told twice: %v", m.name, e)
		}
		seen[e] = true
	}
}

func malformedStored(t *testing.T, r *rig) {
	const ns = "stored"
	healthy := []string{"healthy-a", "healthy-b", "healthy-c"}
	for _, name := range healthy {
		r.apply(t, ns, manifest(name, worker("", "replicas: 2")))
	}
	p := r.operator(t, ns)
	for _, name := range healthy {
		r.awaitState(t, ns, name, schema.Succeeded)
	}
	for _, m := range nonsense() {
		checkRejected(t, r, ns, m)
	}
	recorded := 0
	for _, m := range nonsense() {
		if !r.structural || !m.mute {
			recorded++
		}
	}
	if got, _ := p.metric(t, "training_operator_jobs_rejected_total"); got != float64(recorded) {
		t.Errorf("training_operator_jobs_rejected_total is %v, want %d", got, recorded)
	}
	if got, _ := p.metric(t, "training_operator_panics_total"); got != 0 {
		t.Errorf("training_operator_panics_total is %v", got)
	}

	// A restart says nothing a second time and writes nothing.
	before := map[string]string{}
	events := 0
	for _, m := range nonsense() {
		before[m.name] = r.raw(t, ns, m.name).GetResourceVersion()
		events += len(r.events(t, ns, m.name))
	}
	p.stop(t)
	again := r.operator(t, ns)
	r.apply(t, ns, manifest("canary", worker("", "")))
	r.awaitState(t, ns, "canary", schema.Succeeded)
	await(t, "the events to be worked off", func() (bool, string) {
		left, _ := again.metric(t, "training_operator_events_backlog")
		return left == 0, fmt.Sprint(left)
	})
	for _, m := range nonsense() {
		if got := r.raw(t, ns, m.name).GetResourceVersion(); got != before[m.name] {
			t.Errorf("%s: was written to after a restart", m.name)
		}
		events -= len(r.events(t, ns, m.name))
	}
	if events != 0 {
		t.Errorf("a restart told %d events more", -events)
	}
}

func rejectedThenRepaired(t *testing.T, r *rig) {
	const ns = "repaired"
	r.operator(t, ns)
	for _, m := range nonsense() {
		if m.path == "metadata.name" {
			continue // no edit mends a name
		}
		checkRejected(t, r, ns, m)
		// replace and not apply: the object was not applied by anyone, and its spec may not even be an object.
		r.kubectl(t, []byte(manifest(m.name, worker("", ""))), "-n", ns, "replace", "-f", "-")
	}
	for _, m := range nonsense() {
		if m.path == "metadata.name" {
			continue
		}
		head := r.awaitState(t, ns, m.name, schema.Succeeded)
		if head.Status.Condition(schema.Stalled) != nil || head.Status.Condition(schema.Failed) != nil {
			t.Errorf("%s: conditions of the rejection are left: %s", m.name, describe(&head.Status))
		}
	}
	// The common way: kubectl apply of a wrong manifest and then of the right one.
	r.apply(t, ns, manifest("applied", worker(`resources: {limits: {cpu: "1e1.5"}}`, "")))
	checkRejected(t, r, ns, malformed{name: "applied", path: inContainer + ".resources.limits.cpu"})
	r.apply(t, ns, manifest("applied", worker(`resources: {limits: {cpu: "1"}}`, "")))
	r.awaitState(t, ns, "applied", schema.Succeeded)
	await(t, "the event that the spec is accepted", func() (bool, string) {
		events := r.events(t, ns, "applied")
		return slices.Contains(events, event{"Normal", "TFJobSpecAccepted", "", "spec accepted at generation 2; starting"}), fmt.Sprint(events)
	})
}

func runningThenNonsense(t *testing.T, r *rig) {
	ns := r.namespace(t, "edited")
	r.operator(t, ns)
	// Without exit code the pods run until they are told to end.
	endless := strings.Replace(worker("", "replicas: 2"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	r.apply(t, ns, manifest("job", endless))
	r.awaitState(t, ns, "job", schema.Running)
	before := r.pods(t, ns, "job")
	if len(before) != 2 {
		t.Fatalf("pods: %v, want two", before)
	}
	r.apply(t, ns, manifest("job", strings.Replace(endless, "image: training:1", "image: training:1\n              resources: {limits: {cpu: \"1e1.5\"}}", 1)))
	var head *schema.Head
	await(t, "the edit to be refused", func() (bool, string) {
		head = r.head(t, ns, "job")
		return head.Status.Is(schema.Stalled), describe(&head.Status)
	})
	if got, want := describe(&head.Status), "Stalled=True(InvalidSpecUpdate) Created=True(TFJobCreated) Running=True(TFJobRunning)"; got != want {
		t.Errorf("conditions: %s, want %s", got, want)
	}
	path := inContainer + ".resources.limits.cpu"
	await(t, "the event of the refusal", func() (bool, string) {
		events := r.events(t, ns, "job")
		return slices.ContainsFunc(events, func(e event) bool { return e.Type == "Warning" && e.Path == path }), fmt.Sprint(events)
	})
	if diff := cmp.Diff(before, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("the pods were touched (-before +after):\n%s", diff)
	}
	r.apply(t, ns, manifest("job", endless))
	await(t, "the repair to be accepted", func() (bool, string) {
		head = r.head(t, ns, "job")
		return head.Status.Condition(schema.Stalled) == nil, describe(&head.Status)
	})
	if diff := cmp.Diff(before, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("the pods were touched by the repair (-before +after):\n%s", diff)
	}
	r.kubectl(t, nil, "-n", ns, "annotate", "pods", "--all", `simulation.stoic/exit-code=0`)
	r.awaitState(t, ns, "job", schema.Succeeded)
}

func malformedDeleted(t *testing.T, r *rig) {
	const ns = "deleted"
	r.operator(t, ns)
	for _, m := range nonsense() {
		checkRejected(t, r, ns, m)
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjobs", "--all", "--wait=true", "--timeout=60s")
	if out := r.kubectl(t, nil, "-n", ns, "get", "tfjobs", "-o", "name"); out != "" {
		t.Errorf("left: %s", out)
	}
	r.kubectl(t, nil, "delete", "namespace", ns, "--wait=true", "--timeout=90s")
}

func killedAndRestarted(t *testing.T, r *rig) {
	ns := r.namespace(t, "killed")
	p := r.operator(t, ns)
	spec := strings.Replace(worker("", "replicas: 20"), "run-for: 1s", "run-for: 6s", 1)
	r.apply(t, ns, manifest("job", spec))
	await(t, "the first pods", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) > 0, fmt.Sprint(len(pods))
	})
	p.kill(t) // with the creation of the others under way, or just done
	before := r.pods(t, ns, "job")
	p = r.operator(t, ns)
	await(t, "twenty pods", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 20, fmt.Sprint(len(pods))
	})
	after := r.pods(t, ns, "job")
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("pod %s was made anew", name)
		}
	}
	r.awaitState(t, ns, "job", schema.Running)
	p.kill(t)
	// The pods succeed while nobody looks.
	await(t, "the pods to succeed", func() (bool, string) {
		out := r.kubectl(t, nil, "-n", ns, "get", "pods", "--field-selector", "status.phase=Succeeded", "-o", "name")
		return strings.Count(out, "\n") == 20, out
	})
	r.operator(t, ns)
	head := r.awaitState(t, ns, "job", schema.Succeeded)
	if got := head.Status.ReplicaStatuses["Worker"]; got.Failed != 0 {
		t.Errorf("counts: %+v, want no failure", got)
	}
	if diff := cmp.Diff(after, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("pods changed (-before +after):\n%s", diff)
	}
}

func deletedAndRecreated(t *testing.T, r *rig) {
	ns := r.namespace(t, "anew")
	r.operator(t, ns)
	text := manifest("job", strings.Replace(worker("", "replicas: 2"), "run-for: 1s", "run-for: 5s", 1))
	for round := range 3 {
		r.apply(t, ns, text)
		first := r.awaitState(t, ns, "job", schema.Running)
		r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "job", "--cascade=background", "--wait=true")
		r.apply(t, ns, text)
		second := r.awaitState(t, ns, "job", schema.Running)
		if first.Meta.UID == second.Meta.UID {
			t.Fatalf("round %d: still the first job", round)
		}
		await(t, "exactly the pods of the new job", func() (bool, string) {
			owners := r.kubectl(t, nil, "-n", ns, "get", "pods", "-o", "jsonpath={.items[*].metadata.ownerReferences[0].uid}")
			return strings.Fields(owners) != nil && owners == string(second.Meta.UID)+" "+string(second.Meta.UID), owners
		})
		if round == 2 {
			r.awaitState(t, ns, "job", schema.Succeeded)
			continue
		}
		r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "job", "--cascade=foreground", "--wait=true", "--timeout=60s")
	}
}

func statusEdited(t *testing.T, r *rig) {
	ns := r.namespace(t, "tampered")
	r.operator(t, ns)
	endless := strings.Replace(worker("", "replicas: 2"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	r.apply(t, ns, manifest("job", endless))
	before := r.awaitState(t, ns, "job", schema.Running)
	pods := r.pods(t, ns, "job")
	for _, status := range []string{
		`{"conditions":[],"replicaStatuses":{"Worker":{"active":1000000}}}`,
		`{"conditions":null,"replicaStatuses":null,"startTime":null}`,
		`{"conditions":[{"type":"Running","status":"False"},{"type":"Restarting","status":"True"}]}`,
		`{"replicaStatuses":{"Worker":{"active":-7},"Nobody":{"failed":3}}}`,
	} {
		r.kubectl(t, nil, "-n", ns, "patch", "tfjob", "job", "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
		await(t, "the status to be repaired after "+status, func() (bool, string) {
			head := r.head(t, ns, "job")
			counts := fmt.Sprint(head.Status.ReplicaStatuses)
			return head.Status.Is(schema.Created) && head.Status.Is(schema.Running) && !head.Status.Is(schema.Restarting) &&
				head.Status.StartTime != nil && counts == "map[Worker:{2 0 0 }]" && !head.Status.Unclean, describe(&head.Status) + counts
		})
	}
	if diff := cmp.Diff(pods, r.pods(t, ns, "job")); diff != "" {
		t.Errorf("the pods were touched (-before +after):\n%s", diff)
	}
	if after := r.head(t, ns, "job"); after.Meta.Generation != before.Meta.Generation {
		t.Errorf("generation went from %d to %d", before.Meta.Generation, after.Meta.Generation)
	}
}

func foreignPod(t *testing.T, r *rig) {
	ns := r.namespace(t, "foreign")
	r.operator(t, ns)
	r.kubectl(t, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"job-worker-0"},"spec":{"containers":[{"name":"mine","image":"mine:1"}]}}`), "-n", ns, "create", "-f", "-")
	uid := r.kubectl(t, nil, "-n", ns, "get", "pod", "job-worker-0", "-o", "jsonpath={.metadata.uid}")
	r.apply(t, ns, manifest("job", worker("", "replicas: 2")))
	await(t, "the conflict to be told", func() (bool, string) {
		events := r.events(t, ns, "job")
		return slices.ContainsFunc(events, func(e event) bool { return e.Type == "Warning" && e.Reason == "NameConflict" }), fmt.Sprint(events)
	})
	if now := r.kubectl(t, nil, "-n", ns, "get", "pod", "job-worker-0", "-o", "jsonpath={.metadata.uid}"); now != uid {
		t.Errorf("the foreign pod was touched: %s became %s", uid, now)
	}
}

func suspendedAndResumed(t *testing.T, r *rig) {
	ns := r.namespace(t, "suspended")
	r.operator(t, ns)
	spec := func(suspend bool) string {
		return fmt.Sprintf("\n  runPolicy: {suspend: %v}", suspend) + worker("", "")
	}
	r.apply(t, ns, manifest("job", spec(true)))
	head := r.awaitState(t, ns, "job", schema.Suspended)
	if head.Status.StartTime != nil || len(r.pods(t, ns, "job")) > 0 {
		t.Errorf("a suspended job has started: %+v", head.Status)
	}
	r.apply(t, ns, manifest("job", spec(false)))
	head = r.awaitState(t, ns, "job", schema.Succeeded)
	if c := head.Status.Condition(schema.Suspended); c == nil || c.Status != metav1.ConditionFalse || c.Reason != "TFJobResumed" {
		t.Errorf("conditions: %s", describe(&head.Status))
	}
}

// unknownFields: what no library of ours knows reaches the API server. It prunes the field from the pod, and says so
// to whoever asked for strict reading; the operator's own warning event names the nearest field.
func unknownFields(t *testing.T, r *rig) {
	ns := r.namespace(t, "unknown")
	r.operator(t, ns)
	r.kubectl(t, []byte(manifest("job", worker("imagePullPolicee: Always", ""))), "-n", ns, "create", "--validate=false", "-f", "-")
	r.awaitState(t, ns, "job", schema.Succeeded)
	kept, _, _ := unstructured.NestedSlice(r.raw(t, ns, "job").Object, "spec", "tfReplicaSpecs", "Worker", "template", "spec", "containers")
	if len(kept) != 1 {
		t.Fatalf("containers: %v", kept)
	}
	if _, there := kept[0].(map[string]any)["imagePullPolicee"]; !there {
		return // this shape of the CRD prunes it: there is nothing to tell
	}
	await(t, "a warning", func() (bool, string) {
		events := r.events(t, ns, "job")
		return slices.ContainsFunc(events, func(e event) bool {
			return e.Type == "Warning" && e.Reason == "UnknownField" && strings.Contains(e.Message, "imagePullPolicy")
		}), fmt.Sprint(events)
	})
}

// conduct reads in the API server's audit log what the operator did in all scenarios.
func conduct(t *testing.T, r *rig) {
	requests := r.requests(t)
	if len(requests) < 100 {
		t.Fatalf("the audit log has %d requests of the operator; it should have hundreds", len(requests))
	}
	for _, q := range requests {
		switch {
		case q.Verb == "list" && strings.Contains(q.RequestURI, "resourceVersion=0"):
			t.Errorf("a list from a cache of unknown age: %s", q.RequestURI)
		case q.Verb == "delete" && !strings.Contains(string(q.RequestObject), `"preconditions":{"uid":"`):
			t.Errorf("a delete without precondition: %s %s", q.RequestURI, q.RequestObject)
		case q.ResponseStatus.Code == http.StatusForbidden && !strings.Contains(q.RequestURI, "/namespaces/deleted/"):
			t.Errorf("forbidden: %s %s", q.Verb, q.RequestURI)
		case q.ResponseStatus.Code >= 500:
			t.Logf("the API server failed: %d %s %s", q.ResponseStatus.Code, q.Verb, q.RequestURI)
		}
	}
	// Nothing is going on: nothing is written.
	settled := len(writes(requests))
	t.Cleanup(func() {})
	deadline := time.Now().Add(2 * time.Second)
	for time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond) // absence cannot be awaited, only watched for a while
	}
	if now := len(writes(r.requests(t))); now != settled {
		t.Errorf("%d writes while nothing was going on", now-settled)
	}
}

func writes(requests []audited) []audited {
	return slices.DeleteFunc(slices.Clone(requests), func(q audited) bool {
		return q.Verb == "get" || q.Verb == "list" || q.Verb == "watch"
	})
}
