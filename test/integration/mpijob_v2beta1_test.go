package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"stoic/cli/cluster"
	"stoic/training"
	"stoic/training/kinds/v2beta1"
)

// TestMPIJobV2Beta1: MPIJobs of kubeflow.org/v2beta1 on a real control plane, whose Job controller runs the launcher. One object
// that no schema would accept was stored before.
func TestMPIJobV2Beta1(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{CRDs: []string{filepath.Join(root, "test/fixtures/mpijobs-v2beta1-open.yaml")}})
	r.permit(t, "deploy/mpijob-v2beta1/rbac.yaml")
	r = r.of(v2beta1.MPIJob())
	r.awaitEstablished(t, r.kind)
	r.apply(t, "default", "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: malformed}\nspec: {mpiReplicaSpecs: [7], runPolicy: often}\n")
	r.redefine(t, filepath.Join(root, "deploy/mpijob-v2beta1/mpijobs.yaml"))
	r.kubectl(t, nil, "apply", "--dry-run=server", "--validate=strict", "-f", filepath.Join(root, "examples/mpi-v2beta1.yaml"))
	r.operator(t, "")
	t.Run("scenarios", func(t *testing.T) {
		sideBySide(t, r, map[string]func(*testing.T, *rig){
			"success":            mpi2Success,
			"failure":            mpi2Failure,
			"suspended, resumed": mpi2Suspended,
			"scaled":             mpi2Scaled,
			"launcher":           mpi2LauncherProblems,
		})
	})
	await(t, "the author of the malformed object to be told", func() (bool, string) {
		head := r.head(t, "default", "malformed")
		return head.Status.Condition(training.Stalled) != nil, describe(&head.Status)
	})
	nothingIsForbidden(t, r)
}

// mpi2Manifest returns a job with a launcher that ends after a time, and workers that run until they are deleted.
func mpi2Manifest(name, spec, policy, launcher string, workers int, node string) string {
	return fmt.Sprintf(`apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: %s}
spec:
  %s
  runPolicy: %s
  mpiReplicaSpecs:
    Launcher:
      restartPolicy: Never
      template:
        metadata: {annotations: %s}
        spec: {%scontainers: [{name: mpi, image: "mpi:1", command: [mpirun, pi]}]}
    Worker:
      replicas: %d
      template: {spec: {containers: [{name: mpi, image: "mpi:1"}]}}
`, name, spec, policy, launcher, node, workers)
}

func (r *rig) batchJob(t *testing.T, ns, name string) *batchv1.Job {
	t.Helper()
	job, err := r.typed.BatchV1().Jobs(ns).Get(context.Background(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// podsOf returns the pods of a replica type, in order of creation.
func (r *rig) podsOf(t *testing.T, ns, rtype string) []corev1.Pod {
	t.Helper()
	list, err := r.typed.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{LabelSelector: training.LabelJobRole + "=" + rtype})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func mpi2Success(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-success")
	r.apply(t, ns, mpi2Manifest("pi", "slotsPerWorker: 2", "{cleanPodPolicy: Running}", ends("6s"), 2, ""))
	r.awaitState(t, ns, "pi", training.Running)
	config, err := r.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), "pi-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := config.Data["hostfile"], "pi-worker-0.pi."+ns+".svc slots=2\npi-worker-1.pi."+ns+".svc slots=2\n"; got != want {
		t.Errorf("hostfile %q, want %q", got, want)
	}
	await(t, "the script to name both workers", func() (bool, string) {
		config, err := r.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), "pi-config", metav1.GetOptions{})
		return err == nil && strings.Count(config.Data["discover_hosts.sh"], "echo pi-worker-") == 2, fmt.Sprint(config.Data, err)
	})
	secret, err := r.typed.CoreV1().Secrets(ns).Get(context.Background(), "pi-ssh", metav1.GetOptions{})
	if err != nil || secret.Type != corev1.SecretTypeSSHAuth || len(secret.Data["ssh-privatekey"]) == 0 || !strings.HasPrefix(string(secret.Data["ssh-publickey"]), "ecdsa-sha2-nistp521 ") {
		t.Errorf("the secret is of type %q: %v", secret.Type, err)
	}
	service, err := r.typed.CoreV1().Services(ns).Get(context.Background(), "pi", metav1.GetOptions{})
	if err != nil || service.Spec.ClusterIP != "None" || !service.Spec.PublishNotReadyAddresses || service.Spec.Selector[training.LabelJob] != "pi" {
		t.Errorf("service: %+v, %v", service.Spec, err)
	}
	head := r.awaitState(t, ns, "pi", training.Succeeded)
	if got, want := describe(&head.Status), "Created=True(MPIJobCreated) Running=False(MPIJobRunning) Succeeded=True(MPIJobSucceeded)"; got != want {
		t.Errorf("conditions %s, want %s", got, want)
	}
	if got := head.Status.ReplicaStatuses["Launcher"]; got.Succeeded != 1 || got.Active != 0 || head.Status.CompletionTime == nil {
		t.Errorf("launcher: %+v", got)
	}
	await(t, "the workers to be deleted", func() (bool, string) {
		pods := r.podsOf(t, ns, "worker")
		return len(pods) == 0 && len(r.podsOf(t, ns, "launcher")) == 1, fmt.Sprint(len(pods))
	})
}

// mpi2Failure: a launcher that fails is retried as often as backoffLimit says, also if its own policy is Never (mpi-operator 651).
func mpi2Failure(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-failure")
	r.apply(t, ns, mpi2Manifest("pi", "", "{backoffLimit: 1, cleanPodPolicy: All, ttlSecondsAfterFinished: 5}",
		`{simulation.stoic/exit-code: "3", simulation.stoic/run-for: 1s}`, 1, ""))
	head := r.awaitState(t, ns, "pi", training.Failed)
	if c := head.Status.Condition(training.Failed); c.Reason != "BackoffLimitExceeded" || head.Status.ReplicaStatuses["Launcher"].Failed != 2 {
		t.Errorf("%+v %+v", c, head.Status.ReplicaStatuses)
	}
	await(t, "all pods to go", func() (bool, string) {
		pods := r.pods(t, ns, "pi")
		return len(pods) == 0, fmt.Sprint(pods)
	})
	await(t, "the job to go when its time is up", func() (bool, string) {
		u := r.raw(t, ns, "pi")
		return u == nil && r.batchJob(t, ns, "pi-launcher") == nil, fmt.Sprint(u != nil)
	})
}

func mpi2Suspended(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-suspended")
	suspend := func(policy, node string) {
		r.apply(t, ns, mpi2Manifest("pi", "", policy, "{}", 2, node))
	}
	rests := func() {
		t.Helper()
		await(t, "the launcher to be suspended, and no pods", func() (bool, string) {
			job, pods := r.batchJob(t, ns, "pi-launcher"), r.pods(t, ns, "pi")
			return job != nil && *job.Spec.Suspend && job.Status.Failed == 0 && len(pods) == 0, fmt.Sprint(pods)
		})
		if head := r.awaitState(t, ns, "pi", training.Suspended); head.Status.Is(training.Failed) {
			t.Error("a suspended job has failed")
		}
	}
	suspend("{suspend: true}", "")
	r.awaitState(t, ns, "pi", training.Suspended)
	if job := r.batchJob(t, ns, "pi-launcher"); job != nil {
		t.Error("the launcher of a job that has not run is there while it is suspended")
	}
	suspend("{suspend: false}", "")
	r.awaitState(t, ns, "pi", training.Running)
	first := r.batchJob(t, ns, "pi-launcher")
	suspend("{suspend: true}", "")
	rests()
	// Job controllers before Kubernetes 1.35 keep the start time, and other scheduling is then rejected.
	r.kubectl(t, nil, "-n", ns, "patch", "job", "pi-launcher", "--subresource=status", "--type=merge", "-p", `{"status":{"startTime":"2026-01-01T00:00:00Z"}}`)
	// What a queue sets reaches the pods of the launcher, in the same Job.
	suspend("{suspend: false}", "nodeSelector: {kubernetes.io/os: linux}, tolerations: [{key: k, operator: Exists}], ")
	r.awaitState(t, ns, "pi", training.Running)
	second := r.batchJob(t, ns, "pi-launcher")
	pods := r.podsOf(t, ns, "launcher")
	if second.UID != first.UID || len(pods) != 1 || pods[0].Spec.NodeSelector["kubernetes.io/os"] != "linux" ||
		!slices.ContainsFunc(pods[0].Spec.Tolerations, func(o corev1.Toleration) bool { return o.Key == "k" }) {
		t.Errorf("resumed with %d pods: %+v", len(pods), second.Spec.Template.Spec)
	}
	suspend("{suspend: true}", "")
	rests()
	// A change that no update of a Job may make recreates it.
	suspend("{suspend: false}", "serviceAccountName: default, terminationGracePeriodSeconds: 7, ")
	r.awaitState(t, ns, "pi", training.Running)
	third := r.batchJob(t, ns, "pi-launcher")
	if third.UID == second.UID || *third.Spec.Template.Spec.TerminationGracePeriodSeconds != 7 || third.Spec.Template.Spec.NodeSelector != nil {
		t.Errorf("edited while suspended: %+v", third.Spec.Template.Spec)
	}
	r.kubectl(t, nil, "-n", ns, "annotate", "pod", r.podsOf(t, ns, "launcher")[0].Name, "simulation.stoic/exit-code=0")
	r.awaitState(t, ns, "pi", training.Succeeded)
}

func mpi2Scaled(t *testing.T, r *rig) {
	ns := r.namespace(t, "mpi-scaled")
	scale := func(workers int, want ...string) {
		t.Helper()
		r.apply(t, ns, mpi2Manifest("pi", "runLauncherAsWorker: true", "{}", "{}", workers, ""))
		await(t, fmt.Sprint(workers, " workers"), func() (bool, string) {
			var names []string
			for _, p := range r.podsOf(t, ns, "worker") {
				names = append(names, p.Name+"="+p.Labels[training.LabelReplicaIndex])
			}
			slices.Sort(names)
			config, err := r.typed.CoreV1().ConfigMaps(ns).Get(context.Background(), "pi-config", metav1.GetOptions{})
			return slices.Equal(names, want) && err == nil && strings.Count(config.Data["hostfile"], "\n") == workers+1, fmt.Sprint(names)
		})
	}
	scale(3, "pi-worker-0=1", "pi-worker-1=2", "pi-worker-2=3")
	r.awaitState(t, ns, "pi", training.Running)
	launcher := r.batchJob(t, ns, "pi-launcher").UID
	scale(1, "pi-worker-0=1")
	scale(2, "pi-worker-0=1", "pi-worker-1=2")
	r.awaitActive(t, ns, "pi", 2)
	r.kubectl(t, nil, "-n", ns, "scale", "mpijob/pi", "--replicas=3")
	r.awaitActive(t, ns, "pi", 3)
	if again := r.batchJob(t, ns, "pi-launcher"); again.UID != launcher || again.Status.Failed > 0 {
		t.Error("the launcher did not stay")
	}
}

// mpi2LauncherProblems: the Job controller creates the launcher's pod; what is wrong with it is reported on the MPIJob.
func mpi2LauncherProblems(t *testing.T, r *rig) {
	ns := r.namespace(t, "launcher")
	r.apply(t, ns, mpi2Manifest("pi", "", "{}", "{}", 1, "nodeSelector: {there: none}, "))
	r.reportedOnce(t, ns, "pi", training.ReasonPodUnschedulable, "pod pi-launcher-")
}
