package deploy

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed namespace.yaml crd/*.yaml rbac/*.yaml controller/*.yaml
var files embed.FS

// Files returns the manifests of this directory, by the same paths: "crd/tfjobs.yaml". A file may hold several documents. Images are
// placeholders, as kustomize has not replaced them: the Deployment runs "stoic".
func Files() fs.FS { return files }

//go:embed mpijob-v2beta1/mpijobs.yaml
var versions embed.FS

// CRD returns the manifest of the CustomResourceDefinition of a kind. That of a version other than v1 is not in Files: it replaces the
// one that is installed by default.
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
