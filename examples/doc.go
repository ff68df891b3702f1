// Package examples answers one question: WHAT DOES A JOB LOOK LIKE?
//
// The manifests in this folder run on any cluster that serves TFJob; those in rejected/ are wrong on purpose. The
// annotation simulation.stoic/expect says how each ends: Succeeded, Failed or Rejected. The other
// simulation.stoic annotations tell the simulated kubelets of `stoic up` what the containers would do; a real
// kubelet ignores them.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml rejected/*.yaml
var files embed.FS

// Expect is the annotation that says how a job ends.
const Expect = "simulation.stoic/expect"

// Files holds the manifests by their paths in this folder.
func Files() fs.FS { return files }
