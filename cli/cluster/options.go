package cluster

import (
	"io"
	"maps"
	"slices"
	"strconv"
)

// Options say which cluster to run. The zero value is a cluster of three
// simulated nodes in a temporary directory.
type Options struct {
	// Source is the folder that holds localcluster's sources. When empty it is
	// searched from the working directory upward, then from the executable's.
	Source string
	// Program is a localcluster executable. When set, nothing is built.
	Program string
	// Kubernetes is the release to build, such as "1.35". When empty it is that of
	// go.mod; for another there is a file kubernetes-1.35.mod beside it.
	Kubernetes string
	// Dir takes data, logs and kubeconfigs and is kept. When empty it is a new
	// temporary directory that Stop removes.
	Dir string
	// Nodes is the number of simulated nodes; 0 means three, negative none.
	Nodes int
	// Users get kubeconfigs of their own: user names by the kubeconfig's name. A
	// user name may be followed by groups: "alice:trainers,viewers". Apart from
	// the admin no one may do anything before a replica type binding says so.
	Users map[string]string
	// CRDs are manifest files or directories of custom resource definitions. Kinds
	// that exist before the controllers start are garbage collected from the first
	// moment; for later ones it takes up to half a minute until owners are known.
	CRDs []string
	// Audit writes an audit log: metadata of every request, and what deletions
	// sent.
	Audit bool
	// History keeps every revision of the store: lists and watches can ask for the
	// past for as long as the cluster runs.
	History bool
	// GangScheduling serves Workloads and PodGroups of scheduling.k8s.io, and lets the scheduler place the pods of a
	// PodGroup together.
	GangScheduling bool
	// Strict lets the API server ask for more rights: to update the finalizers of owners
	// (OwnerReferencesPermissionEnforcement), and to list, as watches do not begin with what there is.
	Strict bool
	// Progress takes one line per step; nil means nowhere.
	Progress io.Writer
}

const defaultNodes = 3

func (o Options) progress() io.Writer {
	if o.Progress == nil {
		return io.Discard
	}
	return o.Progress
}

// arguments are those of localcluster's command up.
func (o Options) arguments(dir string) []string {
	nodes := o.Nodes
	switch {
	case nodes == 0:
		nodes = defaultNodes
	case nodes < 0:
		nodes = 0
	}
	args := []string{"up", "--dir", dir, "--nodes", strconv.Itoa(nodes)}
	for _, name := range slices.Sorted(maps.Keys(o.Users)) {
		args = append(args, "--user", name+"="+o.Users[name])
	}
	for _, path := range o.CRDs {
		args = append(args, "--crd", path)
	}
	if o.Audit {
		args = append(args, "--audit")
	}
	if o.History {
		args = append(args, "--history")
	}
	if o.GangScheduling {
		args = append(args, "--gang-scheduling")
	}
	if o.Strict {
		args = append(args, "--strict")
	}
	if o.Dir == "" {
		args = append(args, "--temporary")
	}
	return args
}
