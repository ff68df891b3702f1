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
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// plain removes what the chart adds on purpose: Helm's labels, the annotation that keeps CRDs, the default strategy of a Deployment. The
// test fails if one is missing.
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
	if object["kind"] == "Deployment" { // strategyIsSwitched in test/integration says why
		spec := object["spec"].(map[string]any)
		quarters := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": "25%", "maxUnavailable": "25%"}}
		if diff := cmp.Diff(quarters, spec["strategy"]); diff != "" {
			t.Errorf("%s: strategy (-want +got):\n%s", id, diff)
		}
		delete(spec, "strategy")
	}
}

// TestChartIsKustomize: with default values the chart installs the objects of kubectl apply -k deploy, except the namespace, which helm
// install --create-namespace creates, and the permissions that only a gang scheduler needs.
func TestChartIsKustomize(t *testing.T) {
	want := objects(t, kustomize(t, "deploy"))
	delete(want, "Namespace/"+namespace)
	withoutGangs(t, want)
	same(t, want, objects(t, documents(both(t, load(t, nil), nil))))
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

// TestRightsFollowValues: which resources, besides those of every installation, the operator may create or read, by values.
func TestRightsFollowValues(t *testing.T) {
	helms := load(t, nil)
	for values, want := range map[string][]string{
		"{}":                           {"autoscaling/horizontalpodautoscalers"},
		"kinds: [PaddleJob]":           {"autoscaling/horizontalpodautoscalers"},
		"kinds: [TFJob]":               nil,
		"gangSchedulerName: volcano":   {"autoscaling/horizontalpodautoscalers", "scheduling.k8s.io/priorityclasses", "scheduling.volcano.sh/podgroups"},
		"gangSchedulerName: volcano-2": {"autoscaling/horizontalpodautoscalers", "scheduling.k8s.io/priorityclasses", "scheduling.x-k8s.io/podgroups"},
		"nativeGangScheduling: true":   {"autoscaling/horizontalpodautoscalers", "scheduling.k8s.io/podgroups", "scheduling.k8s.io/workloads"},
		"{watchNamespace: a, kinds: [TFJob], gangSchedulerName: volcano}": {"scheduling.k8s.io/priorityclasses", "scheduling.volcano.sh/podgroups"},
	} {
		var got []string
		for id, object := range objects(t, documents(both(t, helms, merged(parse(t, values), parse(t, "crds: {enabled: false}\nuserRoles: {create: false}"))))) {
			for _, rule := range roleOf(t, id, object).Rules {
				for _, group := range rule.APIGroups {
					for _, resource := range rule.Resources {
						if group == "autoscaling" || strings.HasPrefix(group, "scheduling.") {
							got = append(got, group+"/"+resource)
						}
					}
				}
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", values, diff)
		}
	}
}

// roleOf returns an object as a role; empty if it is no role.
func roleOf(t *testing.T, id string, object map[string]any) (role rbacv1.ClusterRole) {
	t.Helper()
	if kind := object["kind"]; kind != "ClusterRole" && kind != "Role" {
		return role
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, &role); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	return role
}

func merged(into, from map[string]any) map[string]any {
	merge(into, from)
	return into
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

// TestOverlaysHaveValues: for each overlay there are values that install the same objects. TestChartIsKustomize compares the CRDs.
func TestOverlaysHaveValues(t *testing.T) {
	spread := "{maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {control-plane: kubeflow-training-operator}}, matchLabelKeys: [pod-template-hash]"
	none := load(t, nil)
	for overlay, values := range map[string]string{
		"ha": "replicas: 2\npodDisruptionBudget: {enabled: true}\ntopologySpreadConstraints:\n- " + spread + ", topologyKey: kubernetes.io/hostname}\n- " +
			spread + ", topologyKey: topology.kubernetes.io/zone}\n",
		"namespaced":   "watchNamespace: kubeflow\nuserRoles: {create: false}\n",
		"cert-manager": "metrics: {secure: true, certificate: {certManager: {enabled: true}}}\n",
		"monitoring":   "serviceMonitor: {render: alwaysRender}\nprometheusRule: {render: alwaysRender}\ndashboards: {enabled: true}\n",
	} {
		t.Run(overlay, func(t *testing.T) {
			helms := none
			if overlay == "monitoring" {
				helms = load(t, generated(t))
			}
			rendered := slices.DeleteFunc(kustomize(t, "deploy/overlays/"+overlay), func(document string) bool {
				return strings.Contains(document, "\nkind: CustomResourceDefinition\n")
			})
			for i := range rendered { // the chart knows the namespace; in an overlay the kubelet fills it in
				rendered[i] = strings.ReplaceAll(rendered[i], "--namespace=$(MY_POD_NAMESPACE)", "--namespace=kubeflow")
			}
			want := objects(t, rendered)
			delete(want, "Namespace/"+namespace)
			withoutGangs(t, want)
			same(t, want, objects(t, documents(both(t, helms, parse(t, "crds: {enabled: false}\n"+values)))))
		})
	}
}

// generated returns the files of the chart that load leaves out.
func generated(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"files/rules.yaml", "dashboards/*.json"} {
		paths, err := filepath.Glob(filepath.Join(chartDir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(chartDir, path)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(name)] = string(text)
		}
	}
	return files
}

// TestSecureServiceMonitor: the ServiceMonitor of the component equals that of the chart.
func TestSecureServiceMonitor(t *testing.T) {
	text, err := os.ReadFile(root + "/deploy/components/service-monitor-secure/service-monitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const id = "kubeflow/ServiceMonitor/training-operator"
	want := objects(t, []string{string(text)})[id]
	rendered := objects(t, documents(both(t, load(t, nil), parse(t,
		"crds: {enabled: false}\nserviceMonitor: {render: alwaysRender}\nmetrics: {secure: true, certificate: {certManager: {enabled: true}}}\n"))))
	plain(t, id, rendered[id])
	if diff := cmp.Diff(want, rendered[id]); diff != "" {
		t.Errorf("-component +chart:\n%s", diff)
	}
	if _, err := strict(types(t), string(text)); err != nil {
		t.Error(err)
	}
	text, err = os.ReadFile(root + "/deploy/components/pod-monitor/pod-monitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strict(types(t), string(text)); err != nil {
		t.Error(err)
	}
}

// TestCRDs: each value that concerns CRDs.
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

// TestLease: the operator may read and write the lease that its flags name, and no other one.
func TestLease(t *testing.T) {
	helms := load(t, nil)
	for values, want := range map[string]string{
		"{}":                "1ca428e5.training-operator.kubeflow.org",
		"extraArgs: [-v=1]": "1ca428e5.training-operator.kubeflow.org",
		"extraArgs: [--leader-election-id=first, --leader-election-id=mine.example.org]": "mine.example.org", // the last one counts
		"extraArgs: [-leader-election-id=0123]":                                          "0123",
	} {
		const id = "kubeflow/Role/training-operator-leader-election"
		role := roleOf(t, id, objects(t, documents(both(t, helms, merged(parse(t, values), parse(t, "crds: {enabled: false}")))))[id])
		group, leases := []string{"coordination.k8s.io"}, []string{"leases"}
		rules := []rbacv1.PolicyRule{
			{APIGroups: group, Resources: leases, ResourceNames: []string{want}, Verbs: []string{"get", "update"}},
			{APIGroups: group, Resources: leases, Verbs: []string{"create"}},
		}
		if diff := cmp.Diff(rules, role.Rules); diff != "" {
			t.Errorf("%s (-want +got):\n%s", values, diff)
		}
	}
}
