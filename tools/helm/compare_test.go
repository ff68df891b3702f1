package helm

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kustomize renders a folder of the checkout.
func kustomize(t *testing.T, dir string) (documents []string) {
	t.Helper()
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not on PATH")
	}
	var stderr bytes.Buffer
	command := exec.Command(kubectl, "kustomize", filepath.Join(root, dir))
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v\n%s", dir, err, stderr.Bytes())
	}
	return strings.Split("\n"+string(out), "\n---")
}

// plain takes away what the chart adds on purpose: Helm's labels, the annotation that keeps CRDs. It fails if one of them is missing.
func plain(t *testing.T, id string, object map[string]any) {
	t.Helper()
	metadata := object["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for label, want := range map[string]string{
		"app.kubernetes.io/name": "training-operator", "app.kubernetes.io/instance": release, "app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/version": "dev", "helm.sh/chart": "training-operator-0.1.0",
	} {
		if labels[label] != want {
			t.Errorf("%s: label %s is %v, want %s", id, label, labels[label], want)
		}
		delete(labels, label)
	}
	if len(labels) == 0 {
		delete(metadata, "labels")
	}
	if object["kind"] == "CustomResourceDefinition" {
		if diff := cmp.Diff(map[string]any{"helm.sh/resource-policy": "keep"}, metadata["annotations"]); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", id, diff)
		}
		delete(metadata, "annotations")
	}
}

// TestChartIsKustomize: with default values the chart installs the objects of kubectl apply -k deploy, but for the namespace, which
// belongs to helm install --create-namespace.
func TestChartIsKustomize(t *testing.T) {
	want := objects(t, kustomize(t, "deploy"))
	delete(want, "Namespace/"+namespace)
	same(t, want, objects(t, documents(both(t, load(t, nil), nil))))
}

func same(t *testing.T, want, got map[string]map[string]any) {
	t.Helper()
	for id, object := range got {
		plain(t, id, object)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("objects (-kustomize +chart):\n%s", diff)
	}
	for id, object := range want {
		if diff := cmp.Diff(object, got[id]); diff != "" && got[id] != nil {
			t.Errorf("%s (-kustomize +chart):\n%s", id, diff)
		}
	}
}

// TestOverlaysHaveValues: for each overlay there are values that install the same objects. The CRDs are those of TestChartIsKustomize.
func TestOverlaysHaveValues(t *testing.T) {
	spread := "{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {control-plane: kubeflow-training-operator}}, matchLabelKeys: [pod-template-hash]"
	helms := load(t, nil)
	for overlay, values := range map[string]string{
		"ha": "replicas: 2\npodDisruptionBudget: {enabled: true}\ntopologySpreadConstraints:\n- " + spread + ", topologyKey: kubernetes.io/hostname}\n- " +
			spread + ", topologyKey: topology.kubernetes.io/zone}\n",
		"namespaced":   "watchNamespace: kubeflow\n",
		"cert-manager": "metrics: {secure: true, certificate: {certManager: {enabled: true}}}\n",
		"monitoring":   "serviceMonitor: {render: alwaysRender}\n",
	} {
		t.Run(overlay, func(t *testing.T) {
			rendered := slices.DeleteFunc(kustomize(t, "deploy/overlays/"+overlay), func(document string) bool {
				return strings.Contains(document, "\nkind: CustomResourceDefinition\n")
			})
			for i := range rendered { // the chart knows the namespace; in an overlay the kubelet fills it in
				rendered[i] = strings.ReplaceAll(rendered[i], "--namespace=$(MY_POD_NAMESPACE)", "--namespace=kubeflow")
			}
			want := objects(t, rendered)
			delete(want, "Namespace/"+namespace)
			same(t, want, objects(t, documents(both(t, helms, parse(t, "crds: {enabled: false}\n"+values)))))
		})
	}
}

// TestCRDs: each value that concerns them.
func TestCRDs(t *testing.T) {
	h := load(t, nil)["Helm 4"]
	for values, want := range map[string]int{"{}": 6, "crds: {enabled: false}": 0, "kinds: [TFJob, MPIJob]": 2, "crds: {keep: false}": 6} {
		rendered, err := h.render(parse(t, values))
		if err != nil {
			t.Fatal(err)
		}
		crds, kept := 0, 0
		for _, document := range documents(rendered) {
			if strings.Contains(document, "\nkind: CustomResourceDefinition\n") {
				crds++
				kept += strings.Count(document, "\n    helm.sh/resource-policy: keep\n")
			}
		}
		wantKept := want
		if strings.Contains(values, "keep") {
			wantKept = 0
		}
		if crds != want || kept != wantKept {
			t.Errorf("%s: %d CRDs, %d kept, want %d, %d", values, crds, kept, want, wantKept)
		}
	}
	want := objects(t, kustomize(t, "deploy/mpijob-v2beta1"))["CustomResourceDefinition/mpijobs.kubeflow.org"]
	rendered, err := h.render(parse(t, "kinds: [MPIJob]\nmpiJob: {version: v2beta1}"))
	if err != nil {
		t.Fatal(err)
	}
	got := objects(t, documents(rendered))["CustomResourceDefinition/mpijobs.kubeflow.org"]
	plain(t, "mpijobs of v2beta1", got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mpijobs of v2beta1 (-kustomize +chart):\n%s", diff)
	}
}
