package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	masters, workers := map[string]int{"Master": 1, "Worker": 1}, map[string]int{"Worker": 2}
	const address = "MASTER_PORT=9999 MASTER_ADDR=job-master-0 WORLD_SIZE=2 RANK=%d PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=job-worker-0"
	const coordinator = "PYTHONUNBUFFERED=1 COORDINATOR_PORT=6666 COORDINATOR_ADDRESS=job-worker-0 NUM_PROCESSES=2 PROCESS_ID=%d"
	const paddle = "PYTHONUNBUFFERED=1 PADDLE_JOB_ID=job PADDLE_NNODES=2 "
	return []leading{
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

// space returns the namespace of the kind's jobs for one purpose.
func (l leading) space(purpose string) string { return l.kind.Singular + "-" + purpose }

// TestLeadingKinds: the differences of each kind beyond TFJob and PyTorchJob, with one operator for all of them. Malformed
// objects of each exist before it starts.
func TestLeadingKinds(t *testing.T) {
	t.Parallel() // it mostly waits
	var crds []string
	for _, l := range leadingKinds() {
		crds = append(crds, filepath.Join(root, "test/fixtures", l.kind.Plural+"-open.yaml"))
	}
	r := bareRig(t, cluster.Options{CRDs: crds})
	r.permit(t)
	r.keepsGeneration, r.structural = false, true
	for _, l := range leadingKinds() {
		r := r.of(l.kind)
		l.storeMalformed(t, r)
		r.redefine(t, filepath.Join(root, "test/fixtures", l.kind.Plural+"-v1.9.4-written.yaml"))
	}
	r.operator(t, "")
	scenarios := map[string]func(*testing.T, *rig){}
	add := func(kind *training.Kind, its map[string]func(*testing.T, *rig)) {
		for name, scenario := range its {
			scenarios[kind.Name+"/"+name] = func(t *testing.T, r *rig) { scenario(t, r.of(kind)) }
		}
	}
	for _, l := range leadingKinds() {
		add(l.kind, map[string]func(*testing.T, *rig){"happy path": l.happyPath, "a replica fails": l.fails, "rejected": l.rejected, "scaled": l.scaled})
	}
	add(kinds.PaddleJob(), map[string]func(*testing.T, *rig){"masters": paddleMasters, "elastic": paddleElastic})
	t.Run("scenarios", func(t *testing.T) { sideBySide(t, r, scenarios) })
	nothingIsForbidden(t, r)
}

// malformedSpecs returns specs that no schema would accept, with the paths of the findings.
func (l leading) malformedSpecs() map[string]struct{ spec, path string } {
	field := "spec." + l.kind.ReplicaSpecsField
	worker := func(replicas, args string) string {
		return `{"` + l.kind.ReplicaSpecsField + `":{"Master":` + string(schema.JSON(replicaTypeOf(l.kind, 1, "Never", nil))) + `,"Worker":{"replicas":` + replicas +
			`,"template":{"spec":{"containers":[{"name":"` + l.kind.Container + `","image":"i","args":` + args + `}]}}}}}`
	}
	return map[string]struct{ spec, path string }{
		"text":     {`"x"`, "spec"},
		"list":     {`{"` + l.kind.ReplicaSpecsField + `":[7]}`, field},
		"negative": {worker("-3", "[]"), field + ".Worker.replicas"},
		"argument": {worker("1", "[7]"), field + ".Worker.template.spec.containers[0].args[0]"},
	}
}

func (l leading) storeMalformed(t *testing.T, r *rig) {
	t.Helper()
	ns := r.namespace(t, l.space("malformed"))
	r.removeScale(t, definitionOf(l.kind))
	for name, m := range l.malformedSpecs() {
		r.kubectl(t, []byte(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"spec":%s}`, l.kind.APIVersion(), l.kind.Name, name, m.spec)),
			"-n", ns, "create", "-f", "-")
	}
}

// rejected: the malformed objects, and one that the schema accepts, have an event with the reason, and no pods.
func (l leading) rejected(t *testing.T, r *rig) {
	ns := l.space("malformed")
	for name, m := range l.malformedSpecs() {
		r.awaitEvent(t, ns, name, func(e event) bool { return e.Reason == l.problem.Reason && e.Path == m.path })
	}
	r.apply(t, ns, l.manifest("wrong", map[string]any{}, l.wrong))
	head := r.awaitRejected(t, ns, "wrong")
	if message := head.Status.Condition(training.Failed).Message; !strings.Contains(message, l.problem.Message) {
		t.Errorf("the condition says %s", message)
	}
	r.awaitEvent(t, ns, "wrong", func(e event) bool { return e == l.problem })
	if pods := r.kubectl(t, nil, "-n", ns, "get", "pods", "-o", "name"); pods != "" {
		t.Errorf("there are pods: %s", pods)
	}
	r.apply(t, ns, l.manifest("wrong", map[string]any{}, l.replicaSpecs("Never", "1s")))
	r.awaitState(t, ns, "wrong", training.Succeeded)
}

func (r *rig) awaitEvent(t *testing.T, ns, name string, is func(event) bool) {
	t.Helper()
	await(t, "an event of "+name, func() (bool, string) {
		events := r.events(t, ns, name)
		return slices.ContainsFunc(events, is), fmt.Sprint(events)
	})
}

func (l leading) happyPath(t *testing.T, r *rig) {
	ns := r.namespace(t, l.space("happy"))
	r.apply(t, ns, l.manifest("job", map[string]any{"cleanPodPolicy": "Running"}, l.replicaSpecs("OnFailure", "4s")))
	running := r.awaitState(t, ns, "job", training.Running)
	said := func(head *training.Head, of training.ConditionType, want string) {
		t.Helper()
		if c, want := head.Status.Condition(of), strings.ReplaceAll(want, "NS", ns); c == nil || c.Message != want {
			t.Errorf("%s says %+v, want %q", of, c, want)
		}
	}
	said(running, training.Running, l.running)
	for name, want := range l.variables {
		pod, err := r.typed.CoreV1().Pods(ns).Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("get pod: %v", err)
		}
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
		master := name == l.first && !l.kind.MastersOnly
		if _, is := pod.Labels[training.LabelJobRole]; is != master {
			t.Errorf("%s carries the master label: %v, want %v", name, is, master)
		}
	}
	head := r.awaitState(t, ns, "job", training.Succeeded)
	said(head, training.Succeeded, l.done)
	want := strings.ReplaceAll("Created=True(KINDCreated) Running=False(KINDRunning) Succeeded=True(KINDSucceeded)", "KIND", l.kind.Name)
	if got := describe(&head.Status); got != want {
		t.Errorf("conditions at the end: %s, want %s", got, want)
	}
}

// fails: under Never the first pod that fails ends the job, and the others are deleted.
func (l leading) fails(t *testing.T, r *rig) {
	ns := r.namespace(t, l.space("fails"))
	r.apply(t, ns, l.manifest("job", map[string]any{"cleanPodPolicy": "Running"}, l.replicaSpecs("Never", "")))
	r.awaitState(t, ns, "job", training.Running)
	r.kubectl(t, nil, "-n", ns, "annotate", "pod", l.second, "simulation.stoic/exit-code=3")
	head := r.awaitState(t, ns, "job", training.Failed)
	if got, want := head.Status.Condition(training.Failed).Message, l.kind.Name+" job is failed because 1 Worker replica(s) failed. First: pod "+l.second+", "; !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
	await(t, "the other pod to be deleted", func() (bool, string) {
		pods := r.pods(t, ns, "job")
		return len(pods) == 1 && pods[l.second] != "", fmt.Sprint(pods)
	})
}

// scaled: users who may edit jobs can scale the kinds whose CRD has the subresource, with kubectl scale. For others
// training-operator v1.9.4 has none; see TestKubernetesTools for our CRDs.
func (l leading) scaled(t *testing.T, r *rig) {
	ns := r.namespace(t, l.space("scaled"))
	r.kubectl(t, nil, "-n", ns, "create", "rolebinding", "editor", "--clusterrole=kubeflow-training-edit", "--user=eve")
	r.apply(t, ns, l.manifest("job", map[string]any{}, l.replicaSpecs("Never", "")))
	r.awaitState(t, ns, "job", training.Running)
	out, err := r.tryKubectl(nil, "-n", ns, "--as=eve", "scale", l.kind.Plural+"/job", "--replicas=3")
	if l.kind == kinds.XGBoostJob() {
		if err == nil {
			t.Errorf("it is scaled: %s", out)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	r.awaitActive(t, ns, "job", 3)
	scale := r.kubectl(t, nil, "get", "--raw", "/apis/kubeflow.org/v1/namespaces/"+ns+"/"+l.kind.Plural+"/job/scale")
	if !strings.Contains(scale, `"selector":"training.kubeflow.org/job-name=job,`) {
		t.Errorf("the scale subresource has no selector: %s", scale)
	}
}
