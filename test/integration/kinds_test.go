package integration

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stoic/cli/cluster"
	"stoic/schema"
	"stoic/training"
	"stoic/training/kinds"
)

// leading is a kind whose jobs have a leading replica, replica 0 of a replica type, and others.
type leading struct {
	kind *training.Kind
	// first is the leading pod of a job named job, second one that does not lead; counts are their replica types with the number
	// of replicas.
	first, second string
	counts        map[string]int
	whole         bool // pods of the first replica type carry the master label and decide alone
	running, done string
	variables     map[string]string // of a pod of a job of two replicas: NAME=value, or NAME=field:path of the pod
	wrong         map[string]any    // replica specs that are rejected
	problem       event
}

func leadingKinds() []leading {
	rejected := func(kind *training.Kind, path, message string) event {
		return event{"Warning", kind.Name + "FailedValidation", path, path + ": " + message}
	}
	masters := map[string]int{"Master": 1, "Worker": 1}
	workers := map[string]int{"Worker": 2}
	const meeting = "PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456 MASTER_ADDR=job-master-0 PET_MASTER_ADDR=job-master-0 WORLD_SIZE=2 " +
		"RANK=%[1]d PET_NODE_RANK=%[1]d PET_NPROC_PER_NODE=auto PET_NNODES=2"
	const address = "MASTER_PORT=9999 MASTER_ADDR=job-master-0 WORLD_SIZE=2 RANK=%d PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=job-worker-0"
	const coordinator = "PYTHONUNBUFFERED=1 COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=job-worker-0 NUM_PROCESSES=2 PROCESS_ID=%d"
	const paddle = "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=job PADDLE_NNODES=2 "
	return []leading{
		{kind: kinds.PyTorchJob(), first: "job-master-0", second: "job-worker-0", counts: masters, whole: true,
			running: "PyTorchJob job is running.", done: "PyTorchJob job is successfully completed.",
			variables: map[string]string{"job-master-0": fmt.Sprintf(meeting, 0), "job-worker-0": fmt.Sprintf(meeting, 1)},
			wrong:     map[string]any{"Master": replicaTypeOf(kinds.PyTorchJob(), 2, "Never", nil)},
			problem:   rejected(kinds.PyTorchJob(), "spec.pytorchReplicaSpecs.Master.replicas", "found number 2, must be 1; leave it out")},
		{kind: kinds.XGBoostJob(), first: "job-master-0", second: "job-worker-0", counts: masters, whole: true,
			running: "XGBoostJob job is running.", done: "XGBoostJob job is successfully completed.",
			variables: map[string]string{"job-master-0": fmt.Sprintf(address, 0), "job-worker-0": fmt.Sprintf(address, 1)},
			wrong:     map[string]any{"Worker": replicaTypeOf(kinds.XGBoostJob(), 1, "Never", nil)},
			problem:   rejected(kinds.XGBoostJob(), "spec.xgbReplicaSpecs.Master", "must be set")},
		{kind: kinds.PaddleJob(), first: "job-worker-0", second: "job-worker-1", counts: workers,
			running: "PaddleJob NS/job is running.", done: "PaddleJob NS/job successfully completed.",
			variables: map[string]string{"job-worker-0": paddle + "POD_IP_DUMMY=field:status.podIP PADDLE_MASTER=$(POD_IP_DUMMY):36543",
				"job-worker-1": paddle + "PADDLE_MASTER=job-worker-0:36543"},
			wrong: map[string]any{"Master": replicaTypeOf(kinds.PaddleJob(), 0, "Never", nil), "Worker": replicaTypeOf(kinds.PaddleJob(), 1, "Never", nil)},
			problem: rejected(kinds.PaddleJob(), "spec.paddleReplicaSpecs.Master.replicas",
				"found number 0, must be at least 1; remove `Master` for a job of workers alone")},
		{kind: kinds.JAXJob(), first: "job-worker-0", second: "job-worker-1", counts: workers,
			running: "JAXJob NS/job is running.", done: "JAXJob NS/job successfully completed.",
			variables: map[string]string{"job-worker-0": fmt.Sprintf(coordinator, 0), "job-worker-1": fmt.Sprintf(coordinator, 1)},
			wrong:     map[string]any{"Master": replicaTypeOf(kinds.JAXJob(), 1, "Never", nil), "Worker": replicaTypeOf(kinds.JAXJob(), 1, "Never", nil)},
			problem:   rejected(kinds.JAXJob(), "spec.jaxReplicaSpecs.Master", `found replica type "Master", must be "Worker"`)},
	}
}

// replicaTypeOf returns a replica spec whose pods have these annotations.
func replicaTypeOf(kind *training.Kind, replicas int, restart string, annotations map[string]string) map[string]any {
	name := kind.Container
	if name == "" {
		name = "main" // any will do
	}
	return map[string]any{"replicas": replicas, "restartPolicy": restart, "template": map[string]any{
		"metadata": map[string]any{"annotations": annotations},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": name, "image": "training:1"}}}}}
}

// manifest returns a job with these replica specs.
func (l leading) manifest(name string, policy, rtypes map[string]any) string {
	return string(schema.JSON(map[string]any{"apiVersion": l.kind.APIVersion(), "kind": l.kind.Name, "metadata": map[string]any{"name": name},
		"spec": map[string]any{"runPolicy": policy, l.kind.ReplicaSpecsField: rtypes}}))
}

// replicaSpecs returns those of a job of two replicas: the leading ones succeed after that time, or run on if it is empty.
func (l leading) replicaSpecs(restart, after string) map[string]any {
	rtypes := map[string]any{}
	for name, n := range l.counts {
		annotations := map[string]string{}
		if after != "" && (name == "Master" || !l.whole) {
			annotations = map[string]string{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": after}
		}
		rtypes[name] = replicaTypeOf(l.kind, n, restart, annotations)
	}
	return rtypes
}

// TestKinds: what each kind does beyond a TFJob, under the shipped CRDs: the variables of its pods, what its conditions say, which
// replicas decide, and how it is scaled and rejected.
func TestKinds(t *testing.T) {
	quick(t)
	t.Parallel() // it mostly waits
	kindsSuite(t, withOperator(t), "kinds")
}

// TestKindsUnderCRDsOf194: the same, and MPIJobs, under CRDs as training-operator 1.9.4 has them.
func TestKindsUnderCRDsOf194(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	var crds []string
	for _, kind := range kinds.All() {
		crds = append(crds, filepath.Join(root, "test/fixtures", kind.Plural+"-v1.9.4-written.yaml"))
	}
	r := bareRig(t, cluster.Options{CRDs: crds})
	r.permit(t)
	r.keepsGeneration = false
	t.Run("MPIJob", func(t *testing.T) { mpiHappyPath(t, r.of(kinds.MPIJob())) })
	r.common = r.operator(t, "")
	kindsSuite(t, r, "kinds")
	nothingIsForbidden(t, r)
}

func kindsSuite(t *testing.T, r *rig, prefix string) {
	scenarios := map[string]func(*testing.T, *rig){}
	for _, l := range leadingKinds() {
		for name, scenario := range map[string]func(*testing.T, *rig, string){"happy": l.happyPath, "rejected": l.rejected, "scaled": l.scaled} {
			scenarios[l.kind.Name+"/"+name] = func(t *testing.T, r *rig) {
				ns := r.namespace(t, prefix+"-"+l.kind.Singular+"-"+name)
				r.serve(t, ns)
				scenario(t, r.of(l.kind), ns)
			}
		}
	}
	t.Run("scenarios", func(t *testing.T) { sideBySide(t, r, scenarios) })
}

// rejected: a job that the schema accepts and the operator does not has its reason in an event and in the condition, and no pods.
// When it is repaired it runs.
func (l leading) rejected(t *testing.T, r *rig, ns string) {
	r.apply(t, ns, l.manifest("wrong", map[string]any{}, l.wrong))
	head := r.awaitRejected(t, ns, "wrong")
	if message := head.Status.Condition(training.Failed).Message; !strings.Contains(message, l.problem.Message) {
		t.Errorf("the condition says %s", message)
	}
	r.awaitEvent(t, ns, "wrong", func(e event) bool { return e == l.problem })
	if pods := r.pods(t, ns, "wrong"); len(pods) > 0 {
		t.Errorf("there are pods: %v", pods)
	}
	r.apply(t, ns, l.manifest("wrong", map[string]any{}, l.replicaSpecs("Never", "1s")))
	r.awaitState(t, ns, "wrong", training.Succeeded)
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

func (r *rig) awaitEvent(t *testing.T, ns, name string, is func(event) bool) {
	t.Helper()
	await(t, "an event of "+name, func() (bool, string) {
		events := r.events(t, ns, name)
		return slices.ContainsFunc(events, is), fmt.Sprint(events)
	})
}

func (l leading) happyPath(t *testing.T, r *rig, ns string) {
	r.apply(t, ns, l.manifest("job", map[string]any{"cleanPodPolicy": "Running"}, l.replicaSpecs("OnFailure", "3s")))
	running := r.awaitState(t, ns, "job", training.Running)
	said := func(head *training.Head, of training.ConditionType, want string) {
		t.Helper()
		want = strings.ReplaceAll(want, "NS", ns)
		if c := head.Status.Condition(of); c == nil || c.Message != want {
			t.Errorf("%s says %+v, want %q", of, c, want)
		}
	}
	said(running, training.Running, l.running)
	for name, want := range l.variables {
		pod := r.pod(t, ns, name)
		var got []string
		for _, e := range pod.Spec.Containers[0].Env {
			if from := e.ValueFrom; from != nil {
				e.Value = "field:" + from.FieldRef.FieldPath
			}
			got = append(got, e.Name+"="+e.Value)
		}
		if diff := cmp.Diff(strings.Fields(want), got); diff != "" {
			t.Errorf("variables of %s (-want +got):\n%s", name, diff)
		}
		isMaster := name == l.first && !l.kind.MastersOnly
		if _, is := pod.Labels[training.LabelJobRole]; is != isMaster {
			t.Errorf("%s carries the master label: %v, want %v", name, is, isMaster)
		}
	}
	head := r.awaitState(t, ns, "job", training.Succeeded)
	said(head, training.Succeeded, l.done)
	want := strings.ReplaceAll("Created=True(KINDCreated) Running=False(KINDRunning) Succeeded=True(KINDSucceeded)", "KIND", l.kind.Name)
	if got := describe(&head.Status); got != want {
		t.Errorf("conditions at the end: %s, want %s", got, want)
	}
}

// scaled: users who may edit jobs can scale them with kubectl scale, and others cannot.
func (l leading) scaled(t *testing.T, r *rig, ns string) {
	r.kubectl(t, nil, "-n", ns, "create", "rolebinding", "editor", "--clusterrole=kubeflow-training-edit", "--user=eve")
	r.apply(t, ns, l.manifest("job", map[string]any{}, l.replicaSpecs("Never", "")))
	r.awaitState(t, ns, "job", training.Running)
	scale := func(user string, replicas int) (string, error) {
		return r.tryKubectl(nil, "-n", ns, "--as="+user, "scale", l.kind.Plural+"/job", fmt.Sprint("--replicas=", replicas))
	}
	out, err := scale("eve", 3)
	if l.kind.Name == "XGBoostJob" && !r.keepsGeneration { // training-operator v1.9.4 has no scale for it
		if err == nil {
			t.Errorf("it is scaled: %s", out)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	r.awaitActive(t, ns, "job", 3)
	text := r.kubectl(t, nil, "get", "--raw", "/apis/kubeflow.org/v1/namespaces/"+ns+"/"+l.kind.Plural+"/job/scale")
	if !strings.Contains(text, `"selector":"training.kubeflow.org/job-name=job,`) {
		t.Errorf("the scale subresource has no selector: %s", text)
	}
	if out, err := scale("eve", training.MaxReplicas+1); r.keepsGeneration && (err == nil || !strings.Contains(out, "should be less than or equal to 20000")) {
		t.Errorf("it is scaled beyond the most replicas: %s", out)
	}
	if out, err := scale("mallory", 9); err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("anybody may scale: %s", out)
	}
}
