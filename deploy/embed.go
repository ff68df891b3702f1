package deploy

import (
	"embed"
	"io/fs"
)

//go:embed namespace.yaml crd/*.yaml rbac/*.yaml controller/*.yaml
var files embed.FS

// Files holds the manifests as they stand in this directory, by the same paths: "crd/tfjobs.yaml".
// A file may hold several documents. Images are placeholders, as kustomize has not seen them: the
// Deployment runs "stoic".
func Files() fs.FS { return files }
