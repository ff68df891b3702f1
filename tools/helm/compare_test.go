package helm

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// removeAdditions removes what the chart adds on purpose: Helm's labels, the annotation that keeps CRDs, the default strategy of a Deployment. The
// test fails if one is missing.
func removeAdditions(t *testing.T, id string, object map[string]any) {
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
	if object["kind"] == "Deployment" { // strategyIsSwitched in test/integration says why
		spec := object["spec"].(map[string]any)
		quarters := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}}
		if diff := cmp.Diff(quarters, spec["strategy"]); diff != "" {
			t.Errorf("%s: strategy (-want +got):\n%s", id, diff)
		}
		delete(spec, "strategy")
	}
}

// TestChartIsKustomize checks that, for each overlay, there are values with which the chart installs the same objects. The namespace is
// left out, which helm install --create-namespace creates, and the permissions that only a gang scheduler needs.
func TestChartIsKustomize(t *testing.T) {
	spread := "{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {control-plane: kubeflow-training-operator}}, matchLabelKeys: [pod-template-hash]"
	for dir, values := range map[string]string{
		"deploy": "",
		"deploy/overlays/ha": "replicas: 2\npodDisruptionBudget: {enabled: true}\ntopologySpreadConstraints:\n- " + spread + ", topologyKey: kubernetes.io/hostname}\n- " +
			spread + ", topologyKey: topology.kubernetes.io/zone}\n",
		"deploy/overlays/namespaced":   "crds: {enabled: false}\nwatchNamespace: kubeflow\nuserRoles: {create: false}\n",
		"deploy/overlays/cert-manager": "metrics: {secure: true, certificate: {certManager: {enabled: true}}}\n",
		"deploy/overlays/monitoring":   "serviceMonitor: {render: alwaysRender}\nprometheusRule: {render: alwaysRender}\ndashboards: {enabled: true}\n",
	} {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			rendered, err := render(loadWholeChart(t), parse(t, values))
			if err != nil {
				t.Fatal(err)
			}
			documents := kustomize(t, dir)
			for i := range documents { // the chart knows the namespace; in an overlay the kubelet fills it in
				documents[i] = strings.ReplaceAll(documents[i], "--namespace=$(MY_POD_NAMESPACE)", "--namespace=kubeflow")
			}
			want := objects(t, documents)
			delete(want, "Namespace/"+namespace)
			withoutGangs(t, want)
			compareObjects(t, want, objects(t, objectDocuments(rendered)))
		})
	}
}

// TestConversionIsKustomize checks that, with conversion, the chart installs what the components versions and mpijob-versions do. The
// chart also writes the authority of the certificate, which stoic webhook certificate adds to the CRDs of kustomize.
func TestConversionIsKustomize(t *testing.T) {
	want := objects(t, overlayOf(t, "versions", "mpijob-versions"))
	withoutGangs(t, want)
	got := objects(t, objectDocuments(mustRender(t, "conversion: {enabled: true, kinds: [TFJob, MPIJob], certificate: {caBundle: "+authority+"}}")))
	for _, name := range []string{"tfjobs.kubeflow.org", "mpijobs.kubeflow.org"} {
		config, _, err := unstructured.NestedFieldNoCopy(got["CustomResourceDefinition/"+name], "spec", "conversion", "webhook", "clientConfig")
		fields, isMap := config.(map[string]any)
		if err != nil || !isMap || fields["caBundle"] != authority {
			t.Fatalf("%s: clientConfig %v, %v", name, config, err)
		}
		delete(fields, "caBundle")
	}
	compareObjects(t, want, got)
}

// authority is a caBundle: as far as the schema checks, the beginning of a certificate.
const authority = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

// overlayOf renders the default installation with some components.
func overlayOf(t *testing.T, components ...string) []string {
	t.Helper()
	if err := os.MkdirAll(root+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(root+"/bin", "overlay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const deploy = "../../deploy"
	text := "namespace: kubeflow\nresources: [$/crd, $/rbac, $/controller]\ncomponents: [$/components/" + strings.Join(components, ", $/components/") + "]\n"
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(strings.ReplaceAll(text, "$", deploy)), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, filepath.Join("bin", filepath.Base(dir)))
}

// withoutGangs removes the permissions that only a gang scheduler needs: kustomize cannot know whether there is one.
func withoutGangs(t *testing.T, all map[string]map[string]any) {
	t.Helper()
	found := 0
	for _, object := range all {
		rules, _ := object["rules"].([]any)
		if len(rules) == 0 {
			continue
		}
		object["rules"] = slices.DeleteFunc(rules, func(rule any) bool {
			groups, _ := rule.(map[string]any)["apiGroups"].([]any)
			gang := len(groups) > 0 && strings.HasPrefix(fmt.Sprint(groups[0]), "scheduling.")
			if gang {
				found++
			}
			return gang
		})
	}
	if found != 3 && found != 2 { // a Role has no priority classes
		t.Errorf("%d rules are about gangs", found)
	}
}

func compareObjects(t *testing.T, want, got map[string]map[string]any) {
	t.Helper()
	for id, object := range got {
		removeAdditions(t, id, object)
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
