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

// Files are all of them. The chart's stand in its own folder, as Helm reads no file from outside.
func Files(runbooks string) ([]File, error) {
	rules, err := Rules(runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the rules: %w", err)
	}
	object, err := PrometheusRule(runbooks)
	if err != nil {
		return nil, fmt.Errorf("make the PrometheusRule: %w", err)
	}
	const here = "deploy/monitoring"
	files := []File{{here + "/rules.yaml", rules}, {here + "/prometheusrule.yaml", object}, {"deploy/chart/files/rules.yaml", rules}}
	for i := range files {
		files[i].Path = filepath.FromSlash(files[i].Path)
	}
	return files, nil
}
