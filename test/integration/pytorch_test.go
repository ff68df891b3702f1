package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/training"
	"stoic/training/kinds"
)

// TestPyTorchJob: the differences of a second kind. The operator serves both all the time; the CRD of this one is created late.
func TestPyTorchJob(t *testing.T) {
	pyTorchSuite(t, filepath.Join(root, "deploy/crd/pytorchjobs.yaml"), true)
}

// TestPyTorchJobWithCRDOfTrainingOperator194 uses the shape that is written by hand; TestContract does the same for TFJobs.
func TestPyTorchJobWithCRDOfTrainingOperator194(t *testing.T) {
	pyTorchSuite(t, filepath.Join(root, "test/fixtures/pytorchjobs-v1.9.4-written.yaml"), false)
}

func pyTorchSuite(t *testing.T, crd string, keepsGeneration bool) {
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "deploy/crd/tfjobs.yaml")}})
	r.permit(t)
	oneKindIsMissing(t, r)
	r.define(t, crd)
	r.awaitEstablished(t, kinds.PyTorchJob())
	r = r.of(kinds.PyTorchJob())
	r.keepsGeneration = keepsGeneration
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, r, map[string]func(*testing.T, *rig){
			"happy path":                  pyHappyPath,
			"scaled by an editor":         pyScaled,
			"rejected, then repaired":     pyRejected,
			"two kinds under one name":    twoKindsOneName,
			"elastic, suspended, resumed": pyElastic,
		})
	})
	t.Run("conduct", func(t *testing.T) { nothingIsForbidden(t, r) })
}

func pyManifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: %s\nspec:%s", name, spec)
}

func pyReplicaType(name, restart string, replicas int, annotations string) string {
	return fmt.Sprintf(`
    %s:
      replicas: %d
      restartPolicy: %s
      template:
        metadata: {annotations: %s}
        spec:
          containers: [{name: pytorch, image: "training:1"}]`, name, replicas, restart, annotations)
}

func pyWorkers(restart string, replicas int, annotations string) string {
	return "\n  pytorchReplicaSpecs:" + pyReplicaType("Worker", restart, replicas, annotations) + "\n"
}

// ends returns annotations of a pod that succeeds after that time.
func ends(after string) string {
	return `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: ` + after + `}`
}

// oneKindIsMissing: a kind without a CRD causes a gauge and a log line; the other one is served.
func oneKindIsMissing(t *testing.T, r *rig) {
	p := r.operator(t, "")
	served := func(kind string, want float64) {
		t.Helper()
		await(t, "training_operator_kind_served of "+kind, func() (bool, string) {
			n, found := p.metric(t, `training_operator_kind_served{kind="`+kind+`"}`)
			return found && n == want, fmt.Sprint(n, found)
		})
	}
	served("TFJob", 1)
	served("PyTorchJob", 0)
	r.apply(t, "default", manifest("alone", worker("", "")))
	r.awaitState(t, "default", "alone", training.Succeeded)
	if code := p.Probe(t.Context(), "/readyz"); code != 200 {
		t.Errorf("readyz answers %d", code)
	}
	p.stop(t)
}

func pyHappyPath(t *testing.T, r *rig) {
	ns := r.namespace(t, "happy")
	p := r.operator(t, ns)
	r.apply(t, ns, pyManifest("bert", "\n  nprocPerNode: \"2\"\n  runPolicy: {cleanPodPolicy: Running}\n  pytorchReplicaSpecs:"+
		pyReplicaType("Master", "OnFailure", 1, ends("4s"))+pyReplicaType("Worker", "OnFailure", 2, "{}")))
	running := r.awaitState(t, ns, "bert", training.Running)
	for _, rtype := range []string{"Master", "Worker"} {
		want := "training.kubeflow.org/job-name=bert,training.kubeflow.org/operator-name=pytorchjob-controller,training.kubeflow.org/replica-type=" + strings.ToLower(rtype)
		if got := running.Status.ReplicaStatuses[rtype].Selector; got != want {
			t.Errorf("selector of %s is %q, want %q", rtype, got, want)
		}
	}
	const meeting = "PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456 MASTER_ADDR=bert-master-0 PET_MASTER_ADDR=bert-master-0 WORLD_SIZE=6"
	pyPod(t, r, ns, "bert-master-0", meeting+" RANK=0 PET_NODE_RANK=0 PET_NPROC_PER_NODE=2 PET_NNODES=3", "", "master")
	pyPod(t, r, ns, "bert-worker-0", meeting+" RANK=1 PET_NODE_RANK=1 PET_NPROC_PER_NODE=2 PET_NNODES=3", "init-pytorch alpine:3.10 bert-master-0", "")
	pyPod(t, r, ns, "bert-worker-1", meeting+" RANK=2 PET_NODE_RANK=2 PET_NPROC_PER_NODE=2 PET_NNODES=3", "init-pytorch alpine:3.10 bert-master-0", "")

	head := r.awaitState(t, ns, "bert", training.Succeeded)
	if got, want := describe(&head.Status), "Created=True(PyTorchJobCreated) Running=False(PyTorchJobRunning) Succeeded=True(PyTorchJobSucceeded)"; got != want {
		t.Errorf("conditions at the end: %s, want %s", got, want)
	}
	await(t, "the workers, which would run for ever, to be deleted", func() (bool, string) {
		pods := r.pods(t, ns, "bert")
		return len(pods) == 1 && pods["bert-master-0"] != "", fmt.Sprint(pods)
	})
	if got, _ := p.metric(t, "training_operator_jobs_successful_total", `framework="pytorch"`, `job_namespace="happy"`); got != 1 {
		t.Errorf("training_operator_jobs_successful_total is %v, want 1", got)
	}
}

// pyPod checks a pod in the API server: variables, init container ("name image host") and the label of masters.
func pyPod(t *testing.T, r *rig, ns, name, variables, initial, job string) {
	t.Helper()
	pod, err := r.typed.CoreV1().Pods(ns).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get pod: %v", err)
	}
	var got []string
	for _, e := range pod.Spec.Containers[0].Env {
		got = append(got, e.Name+"="+e.Value)
	}
	if diff := cmp.Diff(strings.Fields(variables), got); diff != "" {
		t.Errorf("variables of %s (-want +got):\n%s", name, diff)
	}
	waits := ""
	for _, c := range pod.Spec.InitContainers {
		_, host, _ := strings.Cut(c.Command[2], "nslookup ")
		host, _, _ = strings.Cut(host, ";")
		waits += c.Name + " " + c.Image + " " + host
		if c.ImagePullPolicy != corev1.PullIfNotPresent || len(c.Resources.Limits)+len(c.Resources.Requests) > 0 {
			t.Errorf("init container of %s: %+v", name, c)
		}
	}
	if waits != initial {
		t.Errorf("%s waits in %q, want %q", name, waits, initial)
	}
	if got := pod.Labels["training.kubeflow.org/job-role"]; got != job {
		t.Errorf("the replica type of %s in the job is %q, want %q", name, got, job)
	}
}

// pyScaled: users who may edit jobs can scale them, with nothing but kubectl scale.
func pyScaled(t *testing.T, r *rig) {
	ns := r.namespace(t, "scaled")
	r.operator(t, ns)
	r.kubectl(t, nil, "-n", ns, "create", "rolebinding", "editor", "--clusterrole=kubeflow-training-edit", "--user=eve")
	r.apply(t, ns, pyManifest("bert", "\n  pytorchReplicaSpecs:"+pyReplicaType("Master", "Never", 1, "{}")+pyReplicaType("Worker", "Never", 1, "{}")))
	workers := func(want int) {
		t.Helper()
		await(t, fmt.Sprint(want, " workers that run"), func() (bool, string) {
			head, pods := r.head(t, ns, "bert"), r.pods(t, ns, "bert")
			return int(head.Status.ReplicaStatuses["Worker"].Active) == want && len(pods) == want+1, describe(&head.Status) + fmt.Sprint(pods)
		})
	}
	workers(1)
	before := r.pods(t, ns, "bert")
	for _, n := range []int{3, 0, 2} {
		r.kubectl(t, nil, "-n", ns, "--as=eve", "scale", "pytorchjob/bert", fmt.Sprint("--replicas=", n))
		workers(n)
		head := r.head(t, ns, "bert")
		if !head.Status.Is(training.Running) || head.Status.Is(training.Stalled) {
			t.Errorf("scaled to %d: %s", n, describe(&head.Status))
		}
		if selector := r.kubectl(t, nil, "-n", ns, "get", "--raw", "/apis/kubeflow.org/v1/namespaces/"+ns+"/pytorchjobs/bert/scale"); !strings.Contains(selector, `"selector":"training.kubeflow.org/job-name=bert,`) {
			t.Errorf("the scale subresource has no selector: %s", selector)
		}
	}
	if now := r.pods(t, ns, "bert"); now["bert-master-0"] != before["bert-master-0"] || now["bert-worker-0"] == before["bert-worker-0"] {
		t.Errorf("before %v, now %v", before, now)
	}
	if out, err := r.tryKubectl(nil, "-n", ns, "--as=mallory", "scale", "pytorchjob/bert", "--replicas=9"); err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("anybody may scale: %s", out)
	}
}

func pyRejected(t *testing.T, r *rig) {
	ns := r.namespace(t, "refused")
	r.operator(t, ns)
	two := strings.Replace(pyManifest("bert", "\n  pytorchReplicaSpecs:"+pyReplicaType("Master", "Never", 1, ends("1s"))), "replicas: 1", "replicas: 2", 1)
	r.apply(t, ns, two)
	const path = "spec.pytorchReplicaSpecs.Master.replicas"
	head := r.awaitRejected(t, ns, "bert")
	if message := head.Status.Condition(training.Failed).Message; !strings.Contains(message, path+": found number 2, must be 1; leave it out") {
		t.Errorf("the condition says %s", message)
	}
	await(t, "the event", func() (bool, string) {
		events := r.events(t, ns, "bert")
		return slices.ContainsFunc(events, func(e event) bool {
			return e == event{"Warning", "PyTorchJobFailedValidation", path, path + ": found number 2, must be 1; leave it out"}
		}), fmt.Sprint(events)
	})
	if pods := r.pods(t, ns, "bert"); len(pods) > 0 {
		t.Errorf("it has pods: %v", pods)
	}
	r.apply(t, ns, strings.Replace(two, "replicas: 2", "replicas: 1", 1))
	r.awaitState(t, ns, "bert", training.Succeeded)
}

// awaitRejected waits for the record of a rejection.
func (r *rig) awaitRejected(t *testing.T, ns, name string) *training.Head {
	t.Helper()
	var head *training.Head
	await(t, name+" to be rejected", func() (bool, string) {
		head = r.head(t, ns, name)
		got := describe(&head.Status)
		return got == "Stalled=True(InvalidSpec) Failed=True(InvalidSpec)", got
	})
	return head
}

// twoKindsOneName: pods are named after the job, so the later job is reported, and nothing of the other is touched. When the
// names are free it continues.
func twoKindsOneName(t *testing.T, r *rig) {
	ns := r.namespace(t, "namesakes")
	p := r.operator(t, ns)
	tf := r.of(kinds.TFJob())
	endless := strings.Replace(worker("", "replicas: 2"), `{simulation.stoic/exit-code: "0", simulation.stoic/run-for: 1s}`, "{}", 1)
	tf.apply(t, ns, manifest("twin", endless))
	await(t, "two pods that run", func() (bool, string) {
		head := tf.head(t, ns, "twin")
		return head.Status.ReplicaStatuses["Worker"].Active == 2, describe(&head.Status)
	})
	before := tf.pods(t, ns, "twin")
	r.apply(t, ns, pyManifest("twin", pyWorkers("Never", 2, ends("1s"))))
	await(t, "the conflict to be told", func() (bool, string) {
		events := r.events(t, ns, "twin")
		return slices.ContainsFunc(events, func(e event) bool { return e.Type == "Warning" && e.Reason == "NameConflict" }), fmt.Sprint(events)
	})
	if diff := cmp.Diff(before, tf.pods(t, ns, "twin")); diff != "" {
		t.Errorf("the pods of the first were touched (-before +after):\n%s", diff)
	}
	for _, e := range tf.events(t, ns, "twin") {
		if e.Type == "Warning" {
			t.Errorf("the first one is told %v", e)
		}
	}
	if head := r.head(t, ns, "twin"); head.Status.Terminal() != "" || head.Status.Is(training.Running) {
		t.Errorf("the second one: %s", describe(&head.Status))
	}
	r.kubectl(t, nil, "-n", ns, "delete", "tfjob", "twin", "--cascade=foreground", "--wait=true", "--timeout=3m")
	p.stop(t) // it would retry in five minutes; a new one tries immediately
	r.operator(t, ns)
	r.awaitState(t, ns, "twin", training.Succeeded)
}

func pyElastic(t *testing.T, r *rig) {
	ns := r.namespace(t, "elastic")
	r.operator(t, ns)
	spec := func(suspend bool, after string) string {
		return pyManifest("bert", fmt.Sprintf("\n  elasticPolicy: {minReplicas: 1, maxReplicas: 3, maxRestarts: 5}\n  runPolicy: {suspend: %v}", suspend)+
			pyWorkers("OnFailure", 2, ends(after)))
	}
	r.apply(t, ns, spec(false, "10m"))
	r.awaitState(t, ns, "bert", training.Running)
	pyPod(t, r, ns, "bert-worker-1", "PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_ENDPOINT=bert-worker-0:23456 PET_RDZV_BACKEND=c10d PET_NNODES=1:3 PET_MAX_RESTARTS=5", "", "")
	r.apply(t, ns, spec(true, "10m"))
	r.awaitState(t, ns, "bert", training.Suspended)
	await(t, "its pods to be gone", func() (bool, string) {
		pods := r.pods(t, ns, "bert")
		return len(pods) == 0, fmt.Sprint(pods)
	})
	r.apply(t, ns, spec(false, "1s"))
	r.awaitState(t, ns, "bert", training.Succeeded)
}
