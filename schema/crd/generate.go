package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// generate runs controller-gen over a package and returns what it made, in order of file name.
// The tool's version is fixed in tools/go.mod, that of the Kubernetes types in go.mod.
func generate(types string) ([]*crdv1.CustomResourceDefinition, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "crd")
	if err != nil {
		return nil, fmt.Errorf("make a directory for controller-gen: %w", err)
	}
	defer os.RemoveAll(dir)

	tool := exec.Command("go", "tool", "-modfile="+filepath.Join("tools", "go.mod"), "controller-gen",
		"crd:crdVersions=v1,generateEmbeddedObjectMeta=true", "paths="+types, "output:crd:dir="+dir)
	tool.Dir = root
	if out, err := tool.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s", strings.Join(tool.Args, " "), err, out)
	}
	return readAll(dir, types)
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("ask go for the module's root: %w", err)
	}
	return filepath.Dir(string(bytes.TrimSpace(out))), nil
}

func readAll(dir, types string) ([]*crdv1.CustomResourceDefinition, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list what controller-gen wrote: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("controller-gen wrote no CRD: is a type of package %s marked +kubebuilder:object:root=true?", types)
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
