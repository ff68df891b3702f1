package environment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"stoic/cli/cluster"
	"stoic/test/bench/wire"
	"stoic/test/operator"
)

// Options of an environment.
type Options struct {
	// Root is the checkout.
	Root string
	// Nodes is how many nodes the pods are spread over; each takes a thousand.
	Nodes int
	// Anything makes the API server accept objects that no schema allows.
	Anything bool
	// V2Beta1 makes the API server serve MPIJobs of kubeflow.org/v2beta1 instead of those of kubeflow.org/v1.
	V2Beta1 bool
	// Admin gives the operator all permissions, for operators that need others than ours.
	Admin bool
	// Namespaces to create.
	Namespaces []string
}

// Environment is a control plane with the CRDs, the permissions and the namespaces that a measurement needs.
type Environment struct {
	cluster *cluster.Cluster
	// Admin reaches the API server as the administrator.
	Admin *wire.Client
}

// Open starts an environment.
func Open(ctx context.Context, o Options) (*Environment, error) {
	crds, err := o.crds()
	if err != nil {
		return nil, fmt.Errorf("find the CRDs: %w", err)
	}
	c, err := cluster.Start(ctx, cluster.Options{Source: filepath.Join(o.Root, "localcluster"), Nodes: o.Nodes, Audit: true, CRDs: crds,
		Users: map[string]string{"operator": operator.User}})
	if err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	g := &Environment{cluster: c}
	if err := g.furnish(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return g, nil
}

// crds returns the files of the CRDs.
func (o Options) crds() ([]string, error) {
	pattern := "deploy/crd/*jobs.yaml"
	if o.Anything {
		pattern = "test/fixtures/*jobs-open.yaml"
	}
	files, err := filepath.Glob(filepath.Join(o.Root, pattern))
	if err != nil || !o.V2Beta1 {
		return files, err
	}
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == mpiJobs })
	return append(files, filepath.Join(o.Root, v2beta1, mpiJobs)), nil
}

const v2beta1, mpiJobs = "deploy/mpijob-v2beta1", "mpijobs.yaml"

func (g *Environment) furnish(ctx context.Context, o Options) error {
	config, err := operator.AdminConfig(g.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	if g.Admin, err = wire.Dial(config); err != nil {
		return err
	}
	for _, name := range o.Namespaces {
		body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
		if err := g.Admin.Send(ctx, http.MethodPost, wire.CorePath("", "namespaces"), wire.JSON, body, nil); err != nil {
			return fmt.Errorf("make a namespace: %w", err)
		}
	}
	var more []string
	if o.V2Beta1 {
		more = append(more, filepath.Join(v2beta1, "rbac.yaml"))
	}
	if err := operator.Permit(ctx, g.cluster.Kubeconfig(), o.Root, more...); err != nil || !o.Admin {
		return err
	}
	_, err = operator.Kubectl(ctx, g.cluster.Kubeconfig(), nil, "create", "clusterrolebinding", "measured", "--clusterrole=cluster-admin", "--user="+operator.User)
	return err
}

// Kubeconfig returns the kubeconfig of the operator's user.
func (g *Environment) Kubeconfig() string { return g.cluster.UserKubeconfig("operator") }

// AuditLog returns the file in which the API server logs requests.
func (g *Environment) AuditLog() string { return g.cluster.AuditLog() }

// Version returns the version of Kubernetes.
func (g *Environment) Version() string { return g.cluster.Version() }

// Done returns a channel that is closed when the control plane has ended by itself; Err says why.
func (g *Environment) Done() <-chan struct{} { return g.cluster.Done() }

// Err returns nil as long as the control plane runs.
func (g *Environment) Err() error { return g.cluster.Err() }

// Close stops the control plane and removes its files.
func (g *Environment) Close() error {
	if err := g.cluster.Stop(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	return nil
}
