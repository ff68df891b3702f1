package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	apiyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"stoic/training/kinds"
)

// role holds what a template needs to know of a role.
type role struct {
	Labels          map[string]string       `json:"labels,omitempty"`
	Rules           []rbacv1.PolicyRule     `json:"rules,omitempty"`
	AggregationRule *rbacv1.AggregationRule `json:"aggregationRule,omitempty"`
}

// permissions returns a file with the plurals of the kinds, by which templates choose rules, and all roles of deploy.
func permissions(root string) (file, error) {
	var content struct {
		Kinds map[string]string `json:"kinds"`
		Roles map[string]role   `json:"roles"`
	}
	content.Kinds, content.Roles = map[string]string{}, map[string]role{}
	for _, kind := range kinds.All() {
		content.Kinds[kind.Name] = kind.Plural
	}
	paths, err := filepath.Glob(filepath.Join(root, "deploy", "rbac", "*.yaml"))
	if err != nil || len(paths) == 0 {
		return file{}, fmt.Errorf("list deploy/rbac: found %d: %w", len(paths), err)
	}
	beside, err := filepath.Glob(filepath.Join(root, "deploy", "*", "rbac.yaml")) // of components, and of versions of a kind
	if err != nil {
		return file{}, fmt.Errorf("list the other roles: %w", err)
	}
	for _, path := range append(paths, beside...) {
		if err := roles(path, content.Roles); err != nil {
			return file{}, fmt.Errorf("read the roles of %s: %w", path, err)
		}
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		return file{}, fmt.Errorf("write the permissions of the chart: %w", err)
	}
	from := "deploy/rbac and deploy/*/rbac.yaml"
	return file{"files/permissions.yaml", append(fmt.Appendf(nil, header, from), text...)}, nil
}

// roles adds the roles of a file.
func roles(path string, found map[string]role) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for reader := apiyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r rbacv1.ClusterRole // a Role has the same fields, and fewer
		if err := yaml.Unmarshal(part, &r); err != nil {
			return err
		}
		if r.Kind == "ClusterRole" || r.Kind == "Role" {
			found[r.Name] = role{r.Labels, r.Rules, r.AggregationRule}
		}
	}
}
