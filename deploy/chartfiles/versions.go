package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// served returns the versions, besides the stored one, that kustomize components add to CRDs: list items of spec.versions that follow
// those of a CRD. Components also set spec.conversion; in the chart the template writes it, as it depends on values.
func served(root string) (files []file, err error) {
	paths, err := filepath.Glob(filepath.Join(root, "deploy", "components", "*", "*jobs.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("list the versions of deploy/components: found %d: %w", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a patch of a CRD: %w", err)
		}
		from, err := filepath.Rel(root, path)
		if err != nil {
			return nil, fmt.Errorf("find a patch in the checkout: %w", err)
		}
		items, err := added(text)
		if err != nil {
			return nil, fmt.Errorf("read the versions of %s: %w", from, err)
		}
		name := filepath.Base(path)
		name = name[:len(name)-len(".yaml")] + "-versions.yaml"
		files = append(files, file{"crd-files/" + name, append(fmt.Appendf(nil, header, from), items...)})
	}
	return files, nil
}

// added returns what a patch adds to spec.versions, indented as in a CRD. Any other change is an error, except of spec.conversion.
func added(patch []byte) ([]byte, error) {
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := yaml.UnmarshalStrict(patch, &operations); err != nil {
		return nil, err
	}
	var versions []json.RawMessage
	for _, o := range operations {
		switch o.Op + " " + o.Path {
		case "add /spec/versions/-":
			versions = append(versions, o.Value)
		case "add /spec/conversion":
		default:
			return nil, fmt.Errorf("found %s %s, must add versions or the conversion", o.Op, o.Path)
		}
	}
	if len(versions) == 0 {
		return nil, errors.New("it adds no version")
	}
	text, err := yaml.Marshal(versions)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		out.WriteString("  ")
		out.Write(line)
	}
	return out.Bytes(), nil
}
