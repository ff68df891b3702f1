package deploy

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSecureMonitoring: whichever brings the ServiceMonitor, the component makes it the one for metrics over TLS, also in another
// namespace. Of what else deploy/monitoring installs nothing changes.
func TestSecureMonitoring(t *testing.T) {
	root := checkout(t)
	const secure = "components: [$/metrics-secure, $/components/certificate, $/components/service-monitor-secure]\n"
	const id = "kubeflow/ServiceMonitor/training-operator"
	want := objects(t, kustomize(t, overlay(t, root, "resources: [$/overlays/cert-manager]\ncomponents: [$/components/service-monitor, $/components/service-monitor-secure]\n")))
	monitor, _ := want[id].(map[string]any)
	spec, _ := monitor["spec"].(map[string]any)
	endpoints, _ := spec["endpoints"].([]any)
	if len(endpoints) != 1 {
		t.Fatalf("endpoints %v, want one", endpoints)
	}
	endpoint, _ := endpoints[0].(map[string]any)
	if endpoint["scheme"] != "https" || endpoint["port"] != "monitoring-port" || endpoint["tlsConfig"] == nil {
		t.Errorf("the endpoint is %v", endpoint)
	}
	maps.Copy(want, without(objects(t, kustomize(t, root+"/deploy/monitoring")), id))
	for _, text := range []string{
		"resources: [$/overlays/monitoring]\n" + secure,
		"resources: [$/overlays/cert-manager, $/monitoring]\ncomponents: [$/components/service-monitor-secure]\n",
	} {
		if diff := cmp.Diff(want, objects(t, kustomize(t, overlay(t, root, text)))); diff != "" {
			t.Errorf("-overlays/cert-manager with service-monitor-secure, and deploy/monitoring +%s%s", text, diff)
		}
	}
	moved := objects(t, kustomize(t, overlay(t, root, "namespace: team-a\nresources: [$/overlays/monitoring]\n"+secure)))
	there, _ := moved["team-a/ServiceMonitor/training-operator"].(map[string]any)
	if diff := cmp.Diff(monitor["spec"], there["spec"]); diff != "" {
		t.Errorf("in another namespace:\n%s", diff)
	}
}

// TestSecureMonitorNeedsOne: without a ServiceMonitor to change kustomize fails, rather than leaving Prometheus without one.
func TestSecureMonitorNeedsOne(t *testing.T) {
	dir := overlay(t, checkout(t), "resources: [$/overlays/cert-manager]\ncomponents: [$/components/service-monitor-secure]\n")
	if out, _, err := render(t, dir); err == nil {
		t.Errorf("it renders:\n%s", out)
	}
}

// without leaves out an object.
func without(all map[string]any, id string) map[string]any {
	all = maps.Clone(all)
	delete(all, id)
	return all
}
