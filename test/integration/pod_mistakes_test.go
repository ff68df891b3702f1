package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"stoic/training/convert"
	"stoic/training/kinds"
)

// podCase is a pod with one container and what is merged into it.
type podCase struct {
	What                      string
	Spec, Metadata, Container map[string]any
}

// template returns the pod as a template of a replica.
func (c podCase) template() map[string]any {
	container := map[string]any{"name": "pytorch", "image": "x"}
	maps.Copy(container, c.Container)
	spec := map[string]any{"containers": []any{container}}
	if name := container["name"]; name != "pytorch" { // a second container
		spec["containers"] = []any{map[string]any{"name": "pytorch", "image": "x"}, container}
	}
	maps.Copy(spec, c.Spec)
	return map[string]any{"metadata": c.Metadata, "spec": spec}
}

// TestPodMistakes: the converter rejects a job for a mistake in its pods exactly if the API server refuses the pod.
func TestPodMistakes(t *testing.T) {
	full(t)
	r := shared(t)
	text, err := os.ReadFile("testdata/pod-mistakes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases struct{ Mistakes, Right []podCase }
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	ns := r.namespace(t, "pod-mistakes")
	for _, c := range cases.Mistakes {
		if server := r.refusalOfPod(t, ns, c.template()); server == "" {
			t.Errorf("%s: the API server accepts it", c.What)
		}
		if converter := rejectionOfTemplate(c.template()); converter == "" {
			t.Errorf("%s: the converter accepts it", c.What)
		}
	}
	for _, c := range cases.Right {
		if server := r.refusalOfPod(t, ns, c.template()); server != "" {
			t.Errorf("%s: the API server refuses it: %s", c.What, server)
		}
		if converter := rejectionOfTemplate(c.template()); converter != "" {
			t.Errorf("%s: the converter rejects it: %s", c.What, converter)
		}
	}
}

// refusalOfPod returns why the API server would refuse a pod; empty if it would not.
func (r *rig) refusalOfPod(t *testing.T, ns string, template map[string]any) string {
	t.Helper()
	text, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(text, &pod); err != nil {
		return err.Error()
	}
	pod.GenerateName = "pod-"
	_, err = r.typed.CoreV1().Pods(ns).Create(context.Background(), &pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil:
		return ""
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err): // forbidden: no such priority class
		return err.Error()
	}
	t.Fatal(err)
	return ""
}

// rejectionOfTemplate returns why the converter rejects a job with these pods; empty if it does not.
func rejectionOfTemplate(template map[string]any) string {
	kind := kinds.PyTorchJob()
	result := convert.Object(kind, &unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.APIVersion(), "kind": kind.Name,
		"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": map[string]any{"template": template}}}}})
	if result.Rejection == nil {
		return ""
	}
	return result.Rejection.Problems[0].String()
}

// TestValidateServer: `stoic validate --server` says what only the API server of a cluster knows, at its place in the file.
func TestValidateServer(t *testing.T) {
	full(t)
	r := shared(t)
	ns := r.namespace(t, "validate-server")
	const job = `apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: %s}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
          - name: pytorch
            image: x
            securityContext: {privileged: %t}
`
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, job+"---\n"+job, "right", false, "wrong", true), 0o600); err != nil {
		t.Fatal(err)
	}
	out, talk, code := runStoic(t, "validate", "--server", "--kubeconfig", r.cluster.Kubeconfig(), "-n", ns, file)
	want := file + ":25:43: error: spec.pytorchReplicaSpecs.Worker.template.spec.containers[0].securityContext.privileged: must be accepted by the API server, " +
		"which says: Forbidden: disallowed by cluster policy [InvalidValue]\n" + file + ": PyTorchJob wrong: 1 error\n2 documents checked, 1 rejected\n"
	if code != 1 || talk != "" {
		t.Errorf("code %d, stderr %q", code, talk)
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	out, talk, code = runStoic(t, "validate", "--server", "--kubeconfig", r.cluster.Kubeconfig(), "-n", "nowhere", file)
	if code != 1 || !strings.Contains(out, `which says: namespaces "nowhere" not found`) {
		t.Errorf("in a namespace that does not exist: code %d, stderr %q\n%s", code, talk, out)
	}
}
