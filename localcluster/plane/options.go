package plane

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"stoic/localcluster/access"
)

// Options say which control plane to make.
type Options struct {
	Dir   string
	Nodes int
	Users map[string]access.Identity // by the name of the kubeconfig
	CRDs  []string                   // files or directories of manifests
	Audit bool
	// History keeps every revision of the store, so that lists and watches can ask for the past.
	History bool
	// GangScheduling serves Workloads and PodGroups, and lets the scheduler place the pods of a PodGroup together.
	GangScheduling bool
	// Strict: the API server asks for more rights. See strictArguments.
	Strict bool
	// Store is etcd (or empty), kine, or the URL of a database; see store.go. StoreProgram is the executable of KINE.
	Store, StoreProgram string
	// CRs says who serves custom resources: core (or empty), the API server; aggregated, a server of their own. See definitions.go.
	CRs string
	// Temporary removes the directory at the end, unless a part failed: then its
	// log is wanted.
	Temporary bool

	Program  string        // the executable that runs the parts
	Version  string        // the Kubernetes version that the nodes report
	Commands <-chan string // see obey; nil for none
	Ready    io.Writer     // takes the report and the replies, one JSON line each
	Progress io.Writer     // takes one line per step
}

// admin is the name of the kubeconfig that may do everything, and definitionsKubeconfig of that for definitions of custom resources.
const (
	admin                 = "admin"
	definitionsKubeconfig = "definitions"
)

// ParseOptions reads the flags of the command up.
func ParseOptions(args []string, output io.Writer) (Options, error) {
	o := Options{Users: map[string]access.Identity{}, Progress: output}
	flags := flag.NewFlagSet("localcluster up", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.Dir, "dir", "", "directory for data, logs, certificates and kubeconfigs (required)")
	flags.IntVar(&o.Nodes, "nodes", 3, "number of simulated nodes")
	flags.BoolVar(&o.Audit, "audit", false, "write an audit log: metadata of requests, whole requests for deletions, and in the namespace \"audited\" answers to writes of pods")
	flags.BoolVar(&o.History, "history", false, "never compact the store: lists and watches can ask for the past")
	flags.BoolVar(&o.GangScheduling, "gang-scheduling", false, "serve Workloads and PodGroups, and schedule pods by them")
	flags.BoolVar(&o.Strict, "strict", false, "ask for the right to the finalizers of owners, and for the right to list: no watch begins with what there is")
	flags.StringVar(&o.Store, "store", store, "where the objects are kept: etcd, kine (SQLite), or postgres://... or mysql://..., a database that runs already")
	flags.StringVar(&o.StoreProgram, "store-program", "", "the executable of KINE, for every store but etcd")
	flags.StringVar(&o.CRs, "crs", inCore, "who serves custom resources: core, the API server, or aggregated, an apiextensions-apiserver behind it")
	flags.BoolVar(&o.Temporary, "temporary", false, "remove the directory at the end, unless a part failed")
	flags.Func("user", "NAME=USERNAME[:GROUP,...]: also write DIR/NAME.kubeconfig for that user (repeatable)", o.addUser)
	flags.Func("crd", "manifest file or directory to create before the controllers start (repeatable)", func(path string) error {
		o.CRDs = append(o.CRDs, path)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return Options{}, fmt.Errorf("read the flags of up: %w", err)
	}
	if flags.NArg() > 0 {
		return Options{}, fmt.Errorf("read the flags of up: unexpected argument %q", flags.Arg(0))
	}
	return o.complete()
}

func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return Options{}, errors.New("up needs --dir, the directory to work in")
	}
	if o.Nodes < 0 {
		return Options{}, fmt.Errorf("up cannot make %d nodes", o.Nodes)
	}
	if err := o.checkStore(); err != nil {
		return Options{}, err
	}
	if !slices.Contains([]string{"", inCore, aggregated}, o.CRs) {
		return Options{}, fmt.Errorf("--crs: found %q, must be %s or %s", o.CRs, inCore, aggregated)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return Options{}, fmt.Errorf("find the directory %s: %w", o.Dir, err)
	}
	o.Dir = dir
	return o, nil
}

func (o *Options) addUser(value string) error {
	name, identity, found := strings.Cut(value, "=")
	if !found || identity == "" {
		return errors.New("want NAME=USERNAME[:GROUP,...]")
	}
	// The name becomes a file name.
	if !regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`).MatchString(name) || name == admin || name == definitionsKubeconfig {
		return fmt.Errorf("%q cannot be the name of a further user", name)
	}
	o.Users[name] = parseIdentity(identity)
	return nil
}

// parseIdentity reads USERNAME[:GROUP,...]. Kubernetes' own user names contain
// colons; how many tells their prefix. A service account gets the groups that
// its tokens would have, so that a shipped role binding fits unchanged.
func parseIdentity(text string) access.Identity {
	fields := strings.Split(text, ":")
	size := 1
	switch {
	case strings.HasPrefix(text, "system:serviceaccount:"):
		size = 4
	case strings.HasPrefix(text, "system:node:"):
		size = 3
	case strings.HasPrefix(text, "system:"):
		size = 2
	}
	size = min(size, len(fields))
	id := access.Identity{User: strings.Join(fields[:size], ":")}
	if size == 4 {
		id.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + fields[2]}
	}
	if groups := strings.Join(fields[size:], ":"); groups != "" {
		id.Groups = append(id.Groups, strings.Split(groups, ",")...)
	}
	return id
}
