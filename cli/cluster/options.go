package cluster

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	// temporary directory that Stop removes, but for the logs if a part failed.
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
	// Store is where the objects are kept: StoreEtcd, or empty; StoreKine; or the URL of a database that runs already,
	// postgres://... or mysql://... . For all but etcd, KINE is built, which takes some minutes once.
	Store string
	// CRs is who serves custom resources: CRsInCore, or empty, the API server; CRsAggregated, a server of their own behind it.
	CRs string
	// Progress takes one line per step; nil means nowhere.
	Progress io.Writer
}

const defaultNodes = 3

// StoreEtcd and StoreKine are the stores that a cluster runs itself. KINE answers as etcd does and keeps everything in a file of
// SQLite.
const (
	StoreEtcd = "etcd"
	StoreKine = "kine"
)

// CRsInCore and CRsAggregated are who serves custom resources. Where they are aggregated, their definitions are made with
// DefinitionsKubeconfig, and each group and version needs an APIService, which those of Options.CRDs get.
const (
	CRsInCore     = "core"
	CRsAggregated = "aggregated"
)

// CheckStore says what is wrong with the name or URL of a store. It repeats no URL, since there may be a password in it.
func CheckStore(store string) error {
	if slices.Contains([]string{"", StoreEtcd, StoreKine}, store) {
		return nil
	}
	scheme, rest, found := strings.Cut(store, "://")
	if !found || rest == "" {
		return fmt.Errorf("must be %s, %s, postgres://... or mysql://...", StoreEtcd, StoreKine)
	}
	if !slices.Contains([]string{"postgres", "postgresql", "mysql"}, scheme) {
		return fmt.Errorf("found %s://..., must be %s, %s, postgres://... or mysql://...", strconv.Quote(scheme), StoreEtcd, StoreKine)
	}
	return nil
}

// needsKine says whether KINE is the store, or before it.
func (o Options) needsKine() bool { return o.Store != "" && o.Store != StoreEtcd }

func (o Options) progress() io.Writer {
	if o.Progress == nil {
		return io.Discard
	}
	return o.Progress
}

// arguments are those of localcluster's command up; kine is the executable of KINE, or empty.
func (o Options) arguments(dir, kine string) []string {
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
	if kine != "" {
		args = append(args, "--store", o.Store, "--store-program", kine)
	}
	if o.CRs != "" {
		args = append(args, "--crs", o.CRs)
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

// KubectlArguments come before those of any command of kubectl on a local control plane. kubectl files what an API server serves under its
// address, in the home of the user, for hours; a later control plane may have the same port and serve other kinds. It is kept beside the
// kubeconfig, and goes with it.
func KubectlArguments(kubeconfig string) []string {
	return []string{"--kubeconfig", kubeconfig, "--cache-dir", filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache")}
}
