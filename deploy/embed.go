package deploy

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed namespace.yaml crd/*.yaml rbac/*.yaml controller/*.yaml
var files embed.FS

// Files holds the manifests as they stand in this directory, by the same paths: "crd/tfjobs.yaml".
// A file may hold several documents. Images are placeholders, as kustomize has not seen them: the
// Deployment runs "stoic".
func Files() fs.FS { return files }

//go:embed mpijob-v2beta1/mpijobs.yaml
var versions embed.FS

// CRD is the manifest of the CustomResourceDefinition of a kind. That of a version other than v1 is no part of Files: it takes
// the place of the one that is installed by default.
func CRD(plural, singular, version string) ([]byte, error) {
	from, path := files, "crd/"+plural+".yaml"
	if version != "v1" {
		from, path = versions, singular+"-"+version+"/"+plural+".yaml"
	}
	text, err := from.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the built-in CRD: %w", err)
	}
	return text, nil
}
