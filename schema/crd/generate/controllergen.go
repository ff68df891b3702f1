package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// ErrNoTypes: no type of the package is marked as the root of an object.
var ErrNoTypes = errors.New("no type of the package is marked +kubebuilder:object:root=true, or the package has no marker +groupName=GROUP")

// CRDs runs controller-gen in a folder, over the packages that match a pattern of the go command, and returns the CRDs in order of
// file name. Program is the controller-gen of checkout.Tool, whose version is fixed in tools/go.mod of the engine. The types of
// Kubernetes have the version in the package's own go.mod. controller-gen runs the go command.
func CRDs(ctx context.Context, program, folder, types string) ([]*crdv1.CustomResourceDefinition, error) {
	out, err := os.MkdirTemp("", "crd")
	if err != nil {
		return nil, fmt.Errorf("make a directory for controller-gen: %w", err)
	}
	defer os.RemoveAll(out)
	tool := exec.CommandContext(ctx, program, "crd:crdVersions=v1,generateEmbeddedObjectMeta=true", "paths="+types, "output:crd:dir="+out)
	tool.Dir = folder
	if text, err := tool.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("controller-gen cannot read it: %w\n%s%s", err, complaint(text), meantFolder(folder, types))
	}
	return readAll(out)
}

// complaint returns the output of controller-gen without the usage text that it prints after every error.
func complaint(text []byte) string {
	said, _, _ := strings.Cut(string(text), "\nUsage:")
	said, _, _ = strings.Cut(said, "Error: not all generators ran successfully")
	return strings.TrimSpace(said)
}

// meantFolder returns a hint for a pattern that names a folder without ./: the go command takes it for a package of the standard
// library. It returns "" if there is no such folder.
func meantFolder(folder, types string) string {
	if filepath.IsAbs(types) || strings.HasPrefix(types, ".") {
		return ""
	}
	path := strings.TrimSuffix(types, "/...")
	if at, err := os.Stat(filepath.Join(folder, path)); err != nil || !at.IsDir() {
		return ""
	}
	return "\nwrite ./ in front of a folder: ./" + types
}

func readAll(dir string) ([]*crdv1.CustomResourceDefinition, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list what controller-gen wrote: %w", err)
	}
	if len(names) == 0 {
		return nil, ErrNoTypes
	}
	var all []*crdv1.CustomResourceDefinition
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read what controller-gen wrote: %w", err)
		}
		crd := new(crdv1.CustomResourceDefinition)
		if err := yaml.UnmarshalStrict(raw, crd); err != nil {
			return nil, fmt.Errorf("parse %s of controller-gen: %w", filepath.Base(name), err)
		}
		all = append(all, crd)
	}
	return all, nil
}

// Encode returns the CRD as YAML, without status and creationTimestamp: the API server writes these.
func Encode(crd *crdv1.CustomResourceDefinition) ([]byte, error) {
	raw, err := yaml.Marshal(crd)
	if err != nil {
		return nil, fmt.Errorf("encode CRD %s: %w", crd.Name, err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("read back CRD %s: %w", crd.Name, err)
	}
	delete(fields, "status")
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode CRD %s: %w", crd.Name, err)
	}
	return text, nil
}
