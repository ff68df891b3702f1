package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// aView returns the end of a job of that name; everything that differs between two runs is made from salt.
func aView(t *testing.T, name, salt string) View {
	t.Helper()
	replace := strings.NewReplacer("NAME", name, "SALT", salt)
	of := func(kind, suffix, text string) *unstructured.Unstructured {
		u := object(t, kind, name+suffix, kind+salt, len(salt), replace.Replace(text))
		u.SetNamespace("ns" + salt)
		return u
	}
	job := of("TFJob", "", `
metadata:
  annotations: {training.kubeflow.org/ledger: '{"job":"SALT","restarts":1,"verdict":"Succeeded","failed":{"worker-0":{"pod":"SALT","row":1}}}'}
spec: {tfReplicaSpecs: {Worker: {replicas: 1}}}
status:
  conditions:
  - {type: Created, status: "True", reason: SALT, lastTransitionTime: SALT}
  - {type: Running, status: "False"}
  - {type: Succeeded, status: "True", reason: TFJobSucceeded, message: NAME has succeeded at SALT}
  replicaStatuses: {Worker: {succeeded: 1}}
  startTime: SALT
  completionTime: SALT
`)
	pod := of("Pod", "-worker-0", `
metadata:
  labels: {topology.kubernetes.io/zone: SALT, a: b}
  creationTimestamp: "2026-01-01T00:00:00Z"
spec:
  nodeName: SALT
  containers:
  - {name: tensorflow, env: [{name: TF_CONFIG, value: NAME-worker-0.nsSALT.svc}], volumeMounts: [{name: kube-api-access-SALT}]}
  volumes: [{name: kube-api-access-SALT}]
status:
  phase: Succeeded
  podIP: SALT
  conditions: [{type: simulation.stoic/ends, message: SALT}]
  containerStatuses: [{name: tensorflow, containerID: SALT, restartCount: 0, state: {terminated: {exitCode: 0, finishedAt: SALT}}}]
`)
	if err := unstructured.SetNestedSlice(pod.Object, []any{map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": name,
		"uid": "TFJob" + salt, "controller": true}}, "metadata", "ownerReferences"); err != nil {
		t.Fatal(err)
	}
	return View{Subject: Subject{Resource: resource("TFJob"), Namespace: "ns" + salt, Name: name}, Job: job, Pods: []*unstructured.Unstructured{pod},
		Services:   []*unstructured.Unstructured{of("Service", "-worker-0", "spec: {clusterIP: None}")},
		Dependents: []*unstructured.Unstructured{of("PodGroup", "", "spec: {minMember: 1}\nstatus: {phase: Running, conditions: [SALT]}")},
		Events:     []*unstructured.Unstructured{of("Event", salt, "")}}
}

func TestDigestOfTwoRuns(t *testing.T) {
	if diff := cmp.Diff(aView(t, "one", "aaa").Digest(JobStatus), aView(t, "another7", "bb").Digest(JobStatus)); diff != "" {
		t.Errorf("two runs that ended alike (-one +other):\n%s", diff)
	}
}

// TestDigestSees: each of these is a difference.
func TestDigestSees(t *testing.T) {
	set := func(of func(View) *unstructured.Unstructured, value any, path ...string) func(*testing.T, *View) {
		return func(t *testing.T, v *View) {
			t.Helper()
			if err := unstructured.SetNestedField(of(*v).Object, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	job := func(v View) *unstructured.Unstructured { return v.Job }
	pod := func(v View) *unstructured.Unstructured { return v.Pods[0] }
	for name, change := range map[string]func(*testing.T, *View){
		"no job":     func(_ *testing.T, v *View) { v.Job = nil },
		"no pod":     func(_ *testing.T, v *View) { v.Pods = nil },
		"no service": func(_ *testing.T, v *View) { v.Services = nil },
		"no group":   func(_ *testing.T, v *View) { v.Dependents = nil },
		"pod phase":  set(pod, "Failed", "status", "phase"),
		"exit code": set(pod, []any{map[string]any{"name": "tensorflow", "state": map[string]any{"terminated": map[string]any{"exitCode": int64(1)}}}},
			"status", "containerStatuses"),
		"restart in place": set(pod, []any{map[string]any{"name": "tensorflow", "restartCount": int64(1), "state": map[string]any{"terminated": map[string]any{"exitCode": int64(0)}}}},
			"status", "containerStatuses"),
		"environment":     set(pod, []any{map[string]any{"name": "tensorflow"}}, "spec", "containers"),
		"label":           set(pod, "c", "metadata", "labels", "a"),
		"owner":           set(pod, []any{}, "metadata", "ownerReferences"),
		"former owner":    func(_ *testing.T, v *View) { v.Job.SetUID("other") },
		"deleting":        set(pod, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp"),
		"finalizer":       set(pod, []any{"x"}, "metadata", "finalizers"),
		"spec":            set(job, int64(2), "spec", "tfReplicaSpecs", "Worker", "replicas"),
		"counts":          set(job, int64(2), "status", "replicaStatuses", "Worker", "succeeded"),
		"no times":        set(job, nil, "status", "completionTime"),
		"state":           set(job, []any{map[string]any{"type": "Failed", "status": "True"}}, "status", "conditions"),
		"restarts":        set(job, `{"restarts":2,"verdict":"Succeeded"}`, "metadata", "annotations", LedgerAnnotation),
		"ledger terminal": set(job, `{"restarts":1,"verdict":"Failed"}`, "metadata", "annotations", LedgerAnnotation),
		"ledger nonsense": set(job, `x`, "metadata", "annotations", LedgerAnnotation),
		"group phase":     set(func(v View) *unstructured.Unstructured { return v.Dependents[0] }, "Pending", "status", "phase"),
	} {
		t.Run(name, func(t *testing.T) {
			changed := aView(t, "one", "aaa")
			change(t, &changed)
			if changed.Digest(JobStatus) == aView(t, "one", "aaa").Digest(JobStatus) {
				t.Error("the digest does not say so")
			}
		})
	}
}

// TestDigestOfManyNamespaces: the namespace of a dependent makes a difference, if the subject has several. The names of the
// namespaces and the UID of the object make none, wherever they occur.
func TestDigestOfManyNamespaces(t *testing.T) {
	of := func(salt, in string) string {
		job := object(t, "FooBar", "x"+salt, "uid-"+salt, 1, "spec: {target: x"+salt+"-a, targetNamespace: here"+salt+"-there}")
		job.SetNamespace("here" + salt)
		c := object(t, "ConfigMap", "x"+salt+"-a", "c", 1, "metadata: {annotations: {owner: here"+salt+"/x"+salt+" uid-"+salt+"}}\ndata: {a: b}")
		c.SetNamespace(in)
		v := View{Subject: Subject{Resource: resource("FooBar"), Namespace: "here" + salt, Name: "x" + salt, Also: "here" + salt + "-there"},
			Job: job, Dependents: []*unstructured.Unstructured{c}}
		return v.Digest(JobStatus)
	}
	if diff := cmp.Diff(of("1", "here1-there"), of("22", "here22-there")); diff != "" {
		t.Errorf("two runs that ended alike (-one +other):\n%s", diff)
	}
	if of("1", "here1-there") == of("1", "here1") {
		t.Error("the digest does not say where a ConfigMap is")
	}
}
