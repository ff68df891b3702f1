package certmanager

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"stoic/test/operator"
)

// viaOverlay: the metrics by deploy/overlays/cert-manager, asked for as the ServiceMonitor of components/service-monitor-secure tells Prometheus to,
// before and after the certificate is renewed.
func viaOverlay(t *testing.T, r *rig) {
	if err := os.CopyFS(filepath.Join(r.dir, "deploy"), os.DirFS(filepath.Join(root, "deploy"))); err != nil {
		t.Fatal(err)
	}
	r.run(t, `kubectl apply --server-side -k deploy/overlays/cert-manager
kubectl wait --for=condition=Established crd/tfjobs.kubeflow.org
kubectl -n kubeflow create serviceaccount prometheus
kubectl create clusterrolebinding training-operator-metrics-reader --clusterrole=training-operator-metrics-reader --serviceaccount=kubeflow:prometheus`)
	monitor := r.serviceMonitor(t)
	if monitor.CA.Secret.Name != metricsName || monitor.CA.Secret.Key != corev1.ServiceAccountRootCAKey {
		t.Errorf("the ServiceMonitor names %+v", monitor.CA)
	}
	d := r.deploy(t, "0") // no webhook
	before := r.issued(t, metricsName, nil)
	r.canScrape(t, d, before, monitor.ServerName)
	r.renew(t, metricsName)
	after := r.issued(t, metricsName, before)
	d.volumes[metricsName].bring(t, after)
	awaitServed(t, d.MetricsAddress(), after)
	r.canScrape(t, d, after, monitor.ServerName)
	r.noWarnings(t)
}

func (r *rig) canScrape(t *testing.T, d *deployed, secret *corev1.Secret, name string) {
	t.Helper()
	text, err := r.scrape(t, d, secret.Data[corev1.ServiceAccountRootCAKey], name, "prometheus")
	if err != nil || !strings.Contains(text, "training_operator_build_info{") {
		t.Errorf("metrics: %v\n%.300s", err, text)
	}
}

// tlsConfig of a ServiceMonitor.
type tlsConfig struct {
	ServerName string
	CA         struct{ Secret struct{ Name, Key string } }
}

// serviceMonitor is what components/service-monitor and components/service-monitor-secure add to the overlay.
func (r *rig) serviceMonitor(t *testing.T) tlsConfig {
	t.Helper()
	dir := operator.Overlay(t, filepath.Join(r.dir, "deploy"), "resources: [$/overlays/cert-manager]\ncomponents: [$/components/service-monitor, $/components/service-monitor-secure]\n")
	for _, document := range strings.Split(r.run(t, "kubectl kustomize "+dir), "\n---\n") {
		if !strings.Contains(document, "\nkind: ServiceMonitor\n") {
			continue
		}
		var monitor struct {
			Spec struct {
				Endpoints []struct{ TLSConfig tlsConfig }
			}
		}
		if err := yaml.Unmarshal([]byte(document), &monitor); err != nil || len(monitor.Spec.Endpoints) != 1 {
			t.Fatal(fmt.Errorf("read the ServiceMonitor: %v", err))
		}
		return monitor.Spec.Endpoints[0].TLSConfig
	}
	t.Fatal("there is no ServiceMonitor")
	return tlsConfig{}
}
