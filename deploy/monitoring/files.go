package monitoring

import (
	"fmt"
	"path/filepath"
)

// File is a generated file, by its path in the checkout.
type File struct {
	Path string
	Text []byte
}

const (
	here  = "deploy/monitoring/"
	chart = "deploy/chart/" // Helm reads no file from outside its chart
)

// Files returns all generated files. Alerts link to runbooks at the address, except those of the chart, which has a value for it.
func Files(runbooks string) ([]File, error) {
	rules, err := Rules(runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the rules: %w", err)
	}
	// Whatever address is asked for: the chart's template replaces this one by its value prometheusRule.runbooks.
	ofChart, err := Rules(Runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the rules of the chart: %w", err)
	}
	object, err := PrometheusRule(runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the PrometheusRule: %w", err)
	}
	monitor, err := serviceMonitor()
	if err != nil {
		return nil, fmt.Errorf("make the ServiceMonitor: %w", err)
	}
	files := []File{{here + "rules.yaml", rules}, {chart + "files/rules.yaml", ofChart}, {here + "prometheusrule.yaml", object}, {here + "servicemonitor.yaml", monitor}}
	for _, d := range Dashboards() {
		text, err := d.JSON()
		if err != nil {
			return nil, err
		}
		files = append(files, File{here + "dashboards/" + d.Name + ".json", text}, File{chart + "dashboards/" + d.Name + ".json", text})
	}
	kustomization, err := kustomization()
	if err != nil {
		return nil, err
	}
	files = append(files, File{here + "kustomization.yaml", kustomization}, File{"docs/reference/alerts.md", page()})
	for i := range files {
		files[i].Path = filepath.FromSlash(files[i].Path)
	}
	return files, nil
}

// serviceMonitor returns the object by which the Prometheus operator finds the Service of deploy/controller.
func serviceMonitor() ([]byte, error) {
	return document(map[string]any{"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
		"metadata": map[string]any{"name": "training-operator", "namespace": "kubeflow", "labels": labels()},
		"spec":     map[string]any{"selector": map[string]any{"matchLabels": labels()}, "endpoints": []any{map[string]string{"port": "monitoring-port", "path": "/metrics"}}}})
}

// labels returns the labels of all objects of the operator.
func labels() map[string]string {
	return map[string]string{"control-plane": "kubeflow-training-operator"}
}

// kustomization returns the file that installs everything: kubectl apply -k deploy/monitoring.
func kustomization() ([]byte, error) {
	var maps []any
	for _, d := range Dashboards() {
		maps = append(maps, map[string]any{"name": "training-operator-dashboard-" + d.Name, "files": []string{"dashboards/" + d.Name + ".json"},
			"options": map[string]any{"disableNameSuffixHash": true, "labels": map[string]string{"grafana_dashboard": "1"}}})
	}
	return document(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "kubeflow",
		"resources": []string{"servicemonitor.yaml", "prometheusrule.yaml"}, "configMapGenerator": maps})
}
