package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"stoic/deploy"
	"stoic/training/kinds"
)

// stageManifests are the manifests of a demonstration, in the order in which they are installed.
type stageManifests struct{ wrong, crds, others, right []byte }

// add adds those of a guest.
func (m *stageManifests) add(g guest) error {
	for _, one := range []struct {
		into  *[]byte
		names []string
	}{
		{&m.wrong, []string{"rejected.yaml"}},
		{&m.crds, []string{g.crd()}},
		{&m.others, []string{"deploy/namespace.yaml", "deploy/rbac.yaml"}},
		{&m.right, []string{"example.yaml"}},
	} {
		for _, name := range one.names {
			text, err := g.file(name)
			if err != nil {
				return err
			}
			*one.into = append(append(*one.into, "\n---\n"...), text...)
		}
	}
	return nil
}

// deployed returns the CRDs and, separately, everything that the operator needs besides its Deployment: here it runs as a part of this
// process, not as a simulated pod.
func deployed() (crds, others []byte, err error) {
	err = fs.WalkDir(deploy.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path, "controller/") {
			return err
		}
		text, err := fs.ReadFile(deploy.Files(), path)
		if err != nil {
			return err
		}
		into := &others
		if strings.HasPrefix(path, "crd/") {
			into = &crds
		}
		*into = append(append(*into, "\n---\n"...), text...)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the built-in manifests: %w", err)
	}
	// The namespace has to come first.
	namespace, err := fs.ReadFile(deploy.Files(), "namespace.yaml")
	if err != nil {
		return nil, nil, fmt.Errorf("read the built-in manifests: %w", err)
	}
	return crds, append(append(namespace, "\n---\n"...), others...), nil
}

// writeOlderCRDs writes our CRDs with open schemas: spec and status may hold anything.
func writeOlderCRDs(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make a folder for the older CRDs: %w", err)
	}
	for _, kind := range kinds.All() {
		text, err := deploy.CRD(kind.Plural, kind.Singular, kind.Version)
		if err != nil {
			return err
		}
		if err := writeOlderCRD(folder, kind.Plural, text); err != nil {
			return err
		}
	}
	return nil
}

func writeOlderCRD(folder, plural string, text []byte) error {
	opened, err := openCRD(text)
	if err != nil {
		return fmt.Errorf("open the CRD of %s: %w", plural, err)
	}
	if err := os.WriteFile(filepath.Join(folder, plural+".yaml"), opened, 0o644); err != nil {
		return fmt.Errorf("write an older CRD: %w", err)
	}
	return nil
}

// openCRD removes the schema, and the scale subresource, for which an API server checks the replicas.
func openCRD(text []byte) ([]byte, error) {
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			return nil, errors.New("spec.versions holds something else than objects")
		}
		anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		version["schema"] = map[string]any{"openAPIV3Schema": anything}
		if subresources, ok := version["subresources"].(map[string]any); ok {
			delete(subresources, "scale")
		}
	}
	return yaml.Marshal(crd)
}
