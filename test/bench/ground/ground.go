package ground

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"stoic/cli/cluster"
	"stoic/test/bench/wire"
)

// OperatorUser is the service account that deploy/rbac binds.
const OperatorUser = "system:serviceaccount:kubeflow:training-operator"

// Options of a ground.
type Options struct {
	// Root is the checkout.
	Root string
	// Nodes that the pods are spread over; each takes a thousand.
	Nodes int
	// Anything lets the API server take objects that no schema allows.
	Anything bool
	// Admin gives the operator all permissions, for operators that need others than ours.
	Admin bool
	// Namespaces to make.
	Namespaces []string
	// Progress takes what the control plane says while it starts.
	Progress func(string)
}

// Ground is a control plane with the CRDs, the permissions and the namespaces that a measurement needs.
type Ground struct {
	cluster *cluster.Cluster
	// Admin reaches the API server as the administrator.
	Admin *wire.Client
}

// Open starts one.
func Open(ctx context.Context, o Options) (*Ground, error) {
	crds := []string{filepath.Join(o.Root, "deploy/crd")}
	if o.Anything {
		crds = []string{filepath.Join(o.Root, "test/fixtures/tfjobs-open.yaml"), filepath.Join(o.Root, "test/fixtures/pytorchjobs-open.yaml")}
	}
	c, err := cluster.Start(ctx, cluster.Options{Source: filepath.Join(o.Root, "localcluster"), Nodes: o.Nodes, Audit: true, CRDs: crds,
		Users: map[string]string{"operator": OperatorUser}, Progress: lines(o.Progress)})
	if err != nil {
		return nil, fmt.Errorf("start a control plane: %w", err)
	}
	g := &Ground{cluster: c}
	if err := g.furnish(ctx, o); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return g, nil
}

func (g *Ground) furnish(ctx context.Context, o Options) error {
	config, err := config(g.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	if g.Admin, err = wire.Dial(config); err != nil {
		return err
	}
	calls := [][]string{{"apply", "-f", filepath.Join(o.Root, "deploy/namespace.yaml"), "-f", filepath.Join(o.Root, "deploy/rbac")}}
	if o.Admin {
		calls = append(calls, []string{"create", "clusterrolebinding", "measured", "--clusterrole=cluster-admin", "--user=" + OperatorUser})
	}
	for _, name := range o.Namespaces {
		body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
		if err := g.Admin.Send(ctx, http.MethodPost, wire.CorePath("", "namespaces"), wire.JSON, body, nil); err != nil {
			return fmt.Errorf("make a namespace: %w", err)
		}
	}
	for _, args := range calls {
		cmd := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig", g.cluster.Kubeconfig()}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, text)
		}
	}
	return nil
}

// config reads a kubeconfig. Its client is not slowed down.
func config(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

// AuditLog is the file in which the API server notes requests.
func (g *Ground) AuditLog() string { return g.cluster.AuditLog() }

// Version of Kubernetes.
func (g *Ground) Version() string { return g.cluster.Version() }

// Done is closed when the control plane has ended by itself; Err says why.
func (g *Ground) Done() <-chan struct{} { return g.cluster.Done() }

// Err is nil as long as the control plane runs.
func (g *Ground) Err() error { return g.cluster.Err() }

// Close stops the control plane and removes its files.
func (g *Ground) Close() error {
	if err := g.cluster.Stop(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	return nil
}

// lines passes what is written on; nil takes nothing.
type lines func(string)

func (l lines) Write(p []byte) (int, error) {
	if l != nil {
		l(strings.TrimRight(string(p), "\n"))
	}
	return len(p), nil
}

// Build makes Stoic into a folder and returns the command line that serves all namespaces without a limit of requests,
// as the bare client does.
func Build(ctx context.Context, root, dir string) ([]string, error) {
	file := filepath.Join(dir, "stoic")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, ".")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the operator: %w\n%s", err, text)
	}
	return []string{file, "controller", "--kubeconfig", "{kubeconfig}", "--metrics-bind-address", "{metrics}", "--health-probe-bind-address",
		"{probes}", "--kube-api-qps", "-1", "--event-qps", "-1"}, nil
}
