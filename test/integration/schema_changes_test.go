package integration

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/cli/cluster"
	versionsmanifest "stoic/controller/conversion/manifest"
	"stoic/test/served"
	"stoic/training"
	trainingversions "stoic/training/versions"
)

// schemaChanges is a CRD of TFJobs whose schema changes under stored jobs. In one namespace no client writes them, in the other
// an operator does. This test backs the table in "When the schema changes" of docs/versions.md.
type schemaChanges struct {
	*rig
	kind    *servedKind
	webhook crdv1.WebhookClientConfig
	left    string // namespace in which no client writes
	served  string // namespace of the operator
	old     string // version that is converted
}

// TestSchemaChanges: a CRD gets a default and loses a field, and then gets another default and the field again. Stored objects do
// not change until a client writes them; the API server reads them by the current schema. The operator acts on what is read,
// without a write and without a restart; so do validate --live and the conversion.
func TestSchemaChanges(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	s := &schemaChanges{rig: bareRig(t, cluster.Options{}), kind: &servedKind{Kind: trainingversions.TFJob(), plural: "tfjobs",
		command: []string{build(t, "./cmd/stoic", raceDetector()...), "webhook"}}}
	s.left, s.served, s.old = s.namespace(t, "left"), s.namespace(t, "served"), s.kind.Versions[0].Name
	s.permit(t)
	s.webhook = s.kind.serve(t, t, s.rig, s.left)
	s.schema(t, "create", func(map[string]crdv1.JSONSchemaProps) {})
	s.operator(t, s.served)

	const worker = "\n  tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: x}]}}}}\n"
	s.apply(t, s.left, manifest("policy", "\n  runPolicy: {backoffLimit: 3}"+worker))
	s.apply(t, s.left, manifest("deadline", "\n  runPolicy: {activeDeadlineSeconds: 600}"+worker))
	s.apply(t, s.left, manifest("nothing", worker))
	s.apply(t, s.left, manifest("wrong", "\n  runPolicy: {activeDeadlineSeconds: -5}"+worker))
	s.apply(t, s.served, manifest("runs", "\n  runPolicy: {backoffLimit: 3}"+worker))
	s.apply(t, s.served, manifest("wrong", "\n  runPolicy: {activeDeadlineSeconds: -5}"+worker))
	s.awaitState(t, s.served, "runs", training.Running)
	s.awaitRejected(t, s.served, "wrong")
	s.rejectedLive(t, 1)
	before := s.raw(t, s.left, "policy").GetResourceVersion()

	s.schema(t, "replace", func(policy map[string]crdv1.JSONSchemaProps) {
		s.defaults(policy, "All")
		delete(policy, "activeDeadlineSeconds")
	})
	s.reads(t, "policy", `{"backoffLimit":3,"cleanPodPolicy":"All","suspend":false}`)
	s.reads(t, "deadline", `{"cleanPodPolicy":"All","suspend":false}`)
	s.reads(t, "nothing", "") // a default takes effect if its parent object exists
	s.readsOld(t, "policy", "cleanPodPolicy", `"All"`)
	s.rejectedLive(t, 0)
	if now := s.raw(t, s.left, "policy").GetResourceVersion(); now != before {
		t.Errorf("the job was at version %s and is at %s: nobody has written it", before, now)
	}
	t.Run("a rejected job runs", func(t *testing.T) { s.awaitState(t, s.served, "wrong", training.Running) })
	t.Run("a job that runs ends by the default", func(t *testing.T) {
		s.endPods(t, s.served, "runs")
		s.awaitState(t, s.served, "runs", training.Succeeded)
		s.awaitPods(t, s.served, "runs", 0)
	})

	s.schema(t, "replace", func(policy map[string]crdv1.JSONSchemaProps) { s.defaults(policy, "None") })
	s.reads(t, "policy", `{"backoffLimit":3,"cleanPodPolicy":"None","suspend":false}`)
	s.reads(t, "deadline", `{"activeDeadlineSeconds":600,"cleanPodPolicy":"None","suspend":false}`) // unwritten: it is still stored
	s.readsOld(t, "deadline", "activeDeadlineSeconds", "600")
	s.rejectedLive(t, 1)
	// The operator has written their statuses meanwhile: what was read then is stored.
	for name, want := range map[string]string{"runs": `{"backoffLimit":3,"cleanPodPolicy":"All","suspend":false}`, "wrong": `{"cleanPodPolicy":"All","suspend":false}`} {
		if got := valueOf(s.raw(t, s.served, name), "spec", "runPolicy"); got != want {
			t.Errorf("%s, which was written under the schema before: run policy %s, want %s", name, got, want)
		}
	}
	s.endPods(t, s.served, "wrong")
	s.awaitState(t, s.served, "wrong", training.Succeeded)
}

// schema installs the shipped CRD in all versions, with changed properties of the stored version's run policy. A deadline may be
// negative there: what a schema rejects cannot be stored.
func (s *schemaChanges) schema(t *testing.T, verb string, change func(policy map[string]crdv1.JSONSchemaProps)) {
	t.Helper()
	crd, err := versionsmanifest.CRD(served.CRD(t, filepath.Join(root, "deploy/crd/tfjobs.yaml")), s.kind.Kind, s.webhook)
	if err != nil {
		t.Fatal(err)
	}
	stored := slices.IndexFunc(crd.Spec.Versions, func(v crdv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	policy := crd.Spec.Versions[stored].Schema.OpenAPIV3Schema.Properties["spec"].Properties["runPolicy"].Properties
	policy["activeDeadlineSeconds"] = crdv1.JSONSchemaProps{Type: "integer", Format: "int64"}
	change(policy)
	s.kind.put(t, s.rig, verb, crd)
}

func (s *schemaChanges) defaults(policy map[string]crdv1.JSONSchemaProps, value string) {
	clean := policy["cleanPodPolicy"]
	clean.Default = &crdv1.JSON{Raw: []byte(fmt.Sprintf("%q", value))}
	policy["cleanPodPolicy"] = clean
}

// reads waits until the API server returns that run policy of a job that no client writes; "" is none.
func (s *schemaChanges) reads(t *testing.T, name, want string) {
	t.Helper()
	await(t, fmt.Sprintf("job %s to be read with the run policy %s", name, want), func() (bool, string) {
		got := valueOf(s.raw(t, s.left, name), "spec", "runPolicy")
		return got == want, got
	})
}

// readsOld waits until the API server returns that field of the same job in an old version, in which it is flat.
func (s *schemaChanges) readsOld(t *testing.T, name, field, want string) {
	t.Helper()
	await(t, fmt.Sprintf("job %s to be read as %s with %s %s", name, s.old, field, want), func() (bool, string) {
		job, err := s.kind.resource(s.old).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		got := valueOf(job, "spec", field)
		return got == want, got
	})
}

// rejectedLive waits until validate --live rejects so many of the jobs that no client writes.
func (s *schemaChanges) rejectedLive(t *testing.T, want int) {
	t.Helper()
	await(t, fmt.Sprintf("validate --live to reject %d jobs", want), func() (bool, string) {
		out, talk, code := s.validateLive(t, s.cluster.Kubeconfig(), "-n", s.left, "-o", "json")
		var report struct {
			Summary struct{ Documents, Rejected int }
		}
		err := json.Unmarshal([]byte(out), &report)
		return err == nil && code == min(want, 1) && report.Summary.Documents == 4 && report.Summary.Rejected == want, fmt.Sprint(code, talk, out)
	})
}

// valueOf returns a field, as JSON; "" if there is none.
func valueOf(of *unstructured.Unstructured, path ...string) string {
	value, found, err := unstructured.NestedFieldNoCopy(of.Object, path...)
	if err != nil || !found {
		return ""
	}
	out, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
