package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"stoic/cli/cluster"
	"stoic/test/served"
	"stoic/training"
)

// TestFlatPolicy: a TFJob whose run policy is flat in its spec runs by it, under a CRD that declares these fields there.
func TestFlatPolicy(t *testing.T) {
	t.Parallel() // it mostly waits
	r := bareRig(t, cluster.Options{})
	crd := served.CRD(t, root+"/deploy/crd/tfjobs.yaml")
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	spec.Properties["cleanPodPolicy"] = crdv1.JSONSchemaProps{Type: "string"}
	for _, name := range []string{"ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"} {
		spec.Properties[name] = crdv1.JSONSchemaProps{Type: "integer"}
	}
	text, err := yaml.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	r.kubectl(t, text, "create", "-f", "-")
	r.permit(t)
	r.awaitEstablished(t, r.kind)
	ns := r.namespace(t, "flat")
	r.operator(t, ns)
	const worker = `
  tfReplicaSpecs:
    Worker: {replicas: 2, template: {metadata: {annotations: {simulation.stoic/run-for: 10m}}, spec: {containers: [{name: tensorflow, image: x}]}}}
`
	r.apply(t, ns, manifest("flat", "\n  activeDeadlineSeconds: 1\n  cleanPodPolicy: All"+worker))
	r.apply(t, ns, manifest("nested", "\n  activeDeadlineSeconds: 1\n  cleanPodPolicy: All\n  runPolicy: {activeDeadlineSeconds: 2, cleanPodPolicy: None}"+worker))
	r.apply(t, ns, manifest("wrong", "\n  backoffLimit: -1"+worker))

	r.awaitState(t, ns, "flat", training.Failed)
	await(t, "the pods to be deleted by the policy in the spec", func() (bool, string) {
		pods := r.pods(t, ns, "flat")
		return len(pods) == 0, fmt.Sprint(pods)
	})
	r.awaitState(t, ns, "nested", training.Failed)
	if pods := r.pods(t, ns, "nested"); len(pods) != 2 {
		t.Errorf("runPolicy leaves the pods, which are %v", pods)
	}
	r.awaitState(t, ns, "wrong", training.Failed)
	for job, says := range map[string]string{"flat": `found string "All"; it is used only where`, "nested": `found string "All"; it is not used, as`, "wrong": "spec.backoffLimit: found number -1, must be"} {
		await(t, "an event of "+job, func() (bool, string) {
			events := r.events(t, ns, job)
			return slices.ContainsFunc(events, func(e event) bool { return strings.Contains(e.Message, says) }), fmt.Sprint(events)
		})
	}
}
