// Package examples answers one question: WHAT DOES A JOB LOOK LIKE?
//
// The manifests in this folder run on any cluster that serves their kinds. Those in rejected/ are wrong on purpose, each in
// the way that it is named after: the first line of X.yaml says which codes of problems it shows, and X.txt is what
// `stoic validate X.yaml` says. Every code has at least one. Where the text says "warning" and nowhere "error", the job
// runs nevertheless.
//
// In custom/ are the definition of a custom resource of another operator, and one that is wrong, for
// `stoic validate --crd`.
//
// In operators/ are operators on the engine. example.yaml and rejected.yaml there are an object of the operator, and one that
// is malformed.
//
// The annotation simulation.stoic/expect says how a job ends: Succeeded, Failed or Rejected; of an object of another
// operator, which condition is True then. `stoic up` submits the manifests that have it. The other simulation.stoic annotations tell its simulated kubelets what the containers would
// do; a real kubelet ignores them.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml rejected/*.yaml rejected/*.txt
var files embed.FS

//go:embed operators/crontab/*.yaml operators/crontab/deploy operators/mydeployment/*.yaml operators/mydeployment/deploy
var operators embed.FS

// Expect is the annotation that says how an object ends.
const Expect = "simulation.stoic/expect"

// Files holds the manifests, and what is said of the wrong ones, by their paths in this folder.
func Files() fs.FS { return files }

// OperatorFiles holds objects and manifests of operators that `stoic up` runs, by their paths below operators/:
// crontab/example.yaml, crontab/deploy/rbac.yaml.
func OperatorFiles() (fs.FS, error) { return fs.Sub(operators, "operators") }
