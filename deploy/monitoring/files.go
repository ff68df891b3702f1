package monitoring

import (
	"fmt"
	"path/filepath"
)

// File is what is generated, by its place in the checkout.
type File struct {
	Path string
	Text []byte
}

const (
	here  = "deploy/monitoring/"
	chart = "deploy/chart/" // Helm reads no file from outside its chart
)

// Files are all of them.
func Files(runbooks string) ([]File, error) {
	rules, err := Rules(runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the rules: %w", err)
	}
	object, err := PrometheusRule(runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the PrometheusRule: %w", err)
	}
	files := []File{{here + "rules.yaml", rules}, {chart + "files/rules.yaml", rules}, {here + "prometheusrule.yaml", object}}
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

// kustomization installs the rules and the dashboards: kubectl apply -k deploy/monitoring.
func kustomization() ([]byte, error) {
	var maps []any
	for _, d := range Dashboards() {
		maps = append(maps, map[string]any{"name": "training-operator-dashboard-" + d.Name, "files": []string{"dashboards/" + d.Name + ".json"},
			"options": map[string]any{"disableNameSuffixHash": true, "labels": map[string]string{"grafana_dashboard": "1"}}})
	}
	return document(map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "namespace": "kubeflow",
		"resources": []string{"prometheusrule.yaml"}, "configMapGenerator": maps})
}
