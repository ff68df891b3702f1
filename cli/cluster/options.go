package cluster

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options describe the cluster to run. The zero value is a cluster of three simulated nodes in a temporary directory.
type Options struct {
	// Source is the folder that holds localcluster's sources. When empty, it is searched for from the working directory upward, then
	// from the executable's.
	Source string
	// Program is a localcluster executable. When set, nothing is built.
	Program string
	// Kubernetes is the release to build, such as "1.35". When empty, it is that of go.mod. For another release there is a file such
	// as kubernetes-1.35.mod beside go.mod.
	Kubernetes string
	// Dir is the directory of data, logs and kubeconfigs, and is kept. When empty, a new temporary directory is used; Stop removes
	// it, except the logs if a component failed.
	Dir string
	// Nodes is the number of simulated nodes; 0 means three, negative none.
	Nodes int
	// Users get kubeconfigs of their own: the map is from the kubeconfig's name to the user name. Groups may follow the user name:
	// "alice:trainers,viewers". Only the admin has any permission until a role binding grants some.
	Users map[string]string
	// CRDs are manifest files or directories of custom resource definitions. Kinds that exist before the controllers start are
	// garbage collected from the start; for later ones it takes up to half a minute until owners are known.
	CRDs []string
	// Audit writes an audit log: the metadata of requests, except most of the control plane's own, and the bodies of deletions.
	Audit bool
	// History keeps every revision of the store: lists and watches can request any past version for as long as the cluster runs.
	History bool
	// GangScheduling serves Workloads and PodGroups of scheduling.k8s.io, and lets the scheduler place the pods of a PodGroup
	// together.
	GangScheduling bool
	// Strict makes the API server require more permissions: update on the finalizers of owners
	// (OwnerReferencesPermissionEnforcement), and list, as watches do not begin with the existing objects.
	Strict bool
	// Store is where the objects are kept: StoreEtcd, or empty; StoreKine; or the URL of a database that already runs,
	// postgres://... or mysql://... . For all but etcd, KINE is built, which takes some minutes once.
	Store string
	// CRs says who serves custom resources: CRsInCore, or empty, is the API server; CRsAggregated is a separate server behind it.
	CRs string
	// Progress receives one line per step, with the seconds since Began; nil discards them.
	Progress io.Writer
	// Began is the start of all times in Progress. The zero value is the moment at which Start or Build is called.
	Began time.Time
}

const defaultNodes = 3

// StoreEtcd and StoreKine are the stores that a cluster runs itself. KINE serves the API of etcd and keeps everything in an SQLite
// file.
const (
	StoreEtcd = "etcd"
	StoreKine = "kine"
)

// CRsInCore and CRsAggregated are the values of Options.CRs. With CRsAggregated, definitions are created with DefinitionsKubeconfig,
// and each group and version needs an APIService. Start creates those of Options.CRDs.
const (
	CRsInCore     = "core"
	CRsAggregated = "aggregated"
)

// CheckStore returns what is wrong with the name or URL of a store. The error contains no URL, since there may be a password in it.
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

// needsKine reports whether KINE is the store, or the layer before it.
func (o Options) needsKine() bool { return o.Store != "" && o.Store != StoreEtcd }

// withStart returns the options with a start of their times.
func (o Options) withStart() Options {
	if o.Began.IsZero() {
		o.Began = time.Now()
	}
	return o
}

// steps returns what prints the steps of these options.
func (o Options) steps() *steps {
	if o.Progress == nil {
		return &steps{out: io.Discard, began: o.Began}
	}
	return &steps{out: o.Progress, began: o.Began}
}

// arguments returns those of localcluster's command up; kine is the executable of KINE, or empty.
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

// KubectlArguments returns the flags that precede any command of kubectl on a local control plane. By default kubectl caches
// discovery per server address, in the user's home, for hours; a later control plane may have the same port and serve other kinds.
// With these flags the cache is beside the kubeconfig, and is removed with it.
func KubectlArguments(kubeconfig string) []string {
	return []string{"--kubeconfig", kubeconfig, "--cache-dir", filepath.Join(filepath.Dir(kubeconfig), "kubectl-cache")}
}
