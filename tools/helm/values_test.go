package helm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestWrongTypes checks that the schema rejects a wrong type, null and an unknown key wherever values.yaml has a value, and names it.
func TestWrongTypes(t *testing.T) {
	c := loadChart(t)
	tried := 0
	reject := func(path []string, value any) {
		t.Helper()
		tried++
		values := map[string]any{}
		if err := unstructured.SetNestedField(values, value, path...); err != nil {
			t.Fatal(err)
		}
		if _, err := render(c, values); err == nil || !strings.Contains(err.Error(), path[len(path)-1]) {
			t.Errorf("%s: %v: got error %v, want one that names it", strings.Join(path, "."), value, err)
		}
	}
	var visit func(path []string, value any)
	visit = func(path []string, value any) {
		group, _ := value.(map[string]any)
		if len(path) > 0 {
			reject(path, nil)
		}
		hasFreeKeys := slices.Contains([]string{"dashboards.labels", "podAnnotations"}, strings.Join(path, "."))
		if len(group) == 0 || hasFreeKeys {
			wrong := any("wrong")
			if _, isText := value.(string); isText {
				wrong = int64(1)
			}
			if path[len(path)-1] == "maxUnavailable" { // a number or a percentage
				wrong = true
			}
			reject(path, wrong)
			return
		}
		if path == nil || path[len(path)-1] != "securityContext" {
			reject(append(slices.Clone(path), "wrongKey"), int64(1))
		}
		if !slices.Contains([]string{"resources", "podSecurityContext", "securityContext"}, strings.Join(path, ".")) {
			for _, key := range slices.Sorted(maps.Keys(group)) {
				visit(append(slices.Clone(path), key), group[key])
			}
		}
	}
	visit(nil, c.Values)
	if tried < 120 {
		t.Errorf("tried %d values", tried)
	}
}

// TestWrongValues checks that a value of the right type that is invalid is rejected; the error names it.
func TestWrongValues(t *testing.T) {
	c := loadChart(t)
	for wrong, names := range map[string]string{
		"name: Upper": "/name", "image: {digest: 'md5:1'}": "/image/digest", "replicas: -1": "/replicas",
		"kinds: [TFJobs]": "/kinds/0", "kinds: [TFJob, TFJob]": "/kinds", "mpiJob: {version: v3}": "/mpiJob/version",
		"watchNamespace: a.b": "/watchNamespace", "logLevel: loud": "/logLevel", "extraArgs: [profiling]": "/extraArgs/0",
		"networkPolicy: {apiServerCIDRs: [10.0.0.0/33]}": "/networkPolicy/apiServerCIDRs/0", "serviceMonitor: {render: always}": "/serviceMonitor/render",
		"conversion: {kinds: [PyTorchJob]}": "/conversion/kinds/0", "extraArgs: [--conversion-cert-path=/c]": "/extraArgs/0",
		// Templates check what a schema cannot.
		"{replicas: 2, leaderElection: {enabled: false}}":                                                                        "replicas: more than one need leaderElection.enabled",
		"{gangSchedulerName: volcano, nativeGangScheduling: true}":                                                               "nativeGangScheduling: found beside gangSchedulerName",
		"serviceAccount: {create: false}":                                                                                        "serviceAccount.name: must be set",
		"metrics: {readers: [{name: a, namespace: b}]}":                                                                          "metrics.readers: metrics are served to everybody",
		"metrics: {certificate: {secretName: a}}":                                                                                "metrics.certificate: metrics are served without TLS",
		"{metrics: {secure: true}, podMonitor: {render: alwaysRender}}":                                                          "podMonitor: a PodMonitor cannot give",
		"conversion: {kinds: [TFJob]}":                                                                                           "set conversion.enabled",
		"conversion: {enabled: true, kinds: [TFJob]}":                                                                            "conversion.certificate.caBundle: must be set",
		"conversion: {enabled: true, certificate: {caBundle: " + authority + ", certManager: {enabled: true}}}":                  "conversion.certificate.caBundle: found with certManager.enabled",
		"{kinds: [TFJob], conversion: {enabled: true, kinds: [MPIJob], certificate: {caBundle: " + authority + "}}}":             "conversion.kinds: found MPIJob, must be one of kinds",
		"{mpiJob: {version: v2beta1}, conversion: {enabled: true, kinds: [MPIJob], certificate: {caBundle: " + authority + "}}}": "conversion.kinds: found MPIJob, which is stored as v1",
		"{crds: {enabled: false}, conversion: {enabled: true, kinds: [TFJob], certificate: {caBundle: " + authority + "}}}":      "conversion.kinds: the chart does not install their CRDs",
		"serviceMonitor: {render: failIfMissing}":                                                                                "serviceMonitor.render is failIfMissing, and the cluster does not serve ServiceMonitor",
	} {
		if _, err := render(c, parse(t, wrong)); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: got error %v, want one that names %s", wrong, err, names)
		}
	}
}

// TestOneOperatorInANamespace checks that the chart refuses a second operator, which would wait for the lease of the first.
func TestOneOperatorInANamespace(t *testing.T) {
	deployment := func(namespace, name, label, of string) runtime.Object {
		return &unstructured.Unstructured{Object: parse(t, fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, "+
			"metadata: {namespace: %s, name: %s, labels: {control-plane: %s}, annotations: {meta.helm.sh/release-name: %s}}}", namespace, name, label, of))}
	}
	const ours = "kubeflow-training-operator"
	for name, test := range map[string]struct {
		deployments *fakeDeployments
		refused     bool
	}{
		"no Deployment":               {clusterWith(), false},
		"another program":             {clusterWith(deployment(namespace, "web", "other", "web")), false},
		"the one that is upgraded":    {clusterWith(deployment(namespace, "training-operator", ours, release)), false},
		"what kustomize installed":    {clusterWith(deployment(namespace, "training-operator", ours, "''")), false},
		"another release":             {clusterWith(deployment(namespace, "second", ours, "second")), true},
		"another one, by kustomize":   {clusterWith(deployment(namespace, "second", ours, "''")), true},
		"one in another namespace":    {clusterWith(deployment("elsewhere", "second", ours, "second")), false},
		"a Deployment without labels": {clusterWith(&unstructured.Unstructured{Object: parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: kubeflow, name: bare}}")}), false},
	} {
		_, err := renderIn(loadChart(t), place{release: release, namespace: namespace, deployments: test.deployments}, nil)
		refused := err != nil && strings.Contains(err.Error(), "has a training operator already, the Deployment second")
		if refused != test.refused || err != nil && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
