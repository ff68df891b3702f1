package disruption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"stoic/cli/cluster"
	"stoic/test/operator"
)

// user is the name of the operator's kubeconfig.
const user = "operator"

// environment is one control plane, as its administrator sees it.
type environment struct {
	Env
	cluster *cluster.Cluster
	dynamic dynamic.Interface
	defined dynamic.Interface // the server that has the CRDs
	typed   kubernetes.Interface
	// stretch is how many times longer everything takes than on an idle machine.
	stretch float64
	// process is the operator that runs now, or nil.
	process *operator.Process
}

// on runs a plan on its own control plane, which has the operator's permissions and the kinds of the given files.
func on(ctx context.Context, env Env, crds []string, do func(context.Context, *environment) error) (err error) {
	o := cluster.Options{Source: filepath.Join(env.Root, "localcluster"), Users: map[string]string{user: operator.User}, Store: operator.Store(), CRs: operator.CRs(), CRDs: crds}
	if o.CRs == cluster.CRsAggregated {
		o.CRDs = append([]string{filepath.Join(env.Root, "test/faults/disruption/testdata")}, crds...) // anchors
	}
	if o.Program, err = cluster.Build(ctx, o); err != nil {
		return fmt.Errorf("build the control plane: %w", err)
	}
	began := time.Now()
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return fmt.Errorf("start a control plane: %w", err)
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	g := &environment{Env: env, cluster: c, stretch: stretch(time.Since(began))}
	env.Log("the control plane started in %s: limits are %.1f times as long", time.Since(began).Round(time.Millisecond), g.stretch)
	if err := g.connect(); err != nil {
		return err
	}
	if err := operator.Permit(ctx, c.Kubeconfig(), g.Root); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.stop()) }()
	return do(ctx, g)
}

// busyLimit is enough for a machine that has other work.
const busyLimit = 3 * time.Minute

// stretch returns the factor for limits on a machine where a control plane took that long to start. Limits are meant for an idle machine.
func stretch(took time.Duration) float64 {
	const usual, most = 5 * time.Second, 6
	return min(max(took.Seconds()/usual.Seconds(), 1), most)
}

func (g *environment) connect() error {
	config, err := operator.AdminConfig(g.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	if g.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("make the untyped client: %w", err)
	}
	if g.typed, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("make the typed client: %w", err)
	}
	if config, err = operator.AdminConfig(g.cluster.DefinitionsKubeconfig()); err != nil {
		return err
	}
	if g.defined, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("make the client for CRDs: %w", err)
	}
	return nil
}

func (g *environment) namespace(ctx context.Context, name string) error {
	_, err := g.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make the namespace %s: %w", name, err)
	}
	return nil
}

// crd returns the file of the kind's CRD: the shipped one, unless the plan's webhook converts the kind.
func (e Env) crd(plural string) string {
	return filepath.Join(cmp.Or(e.crds, filepath.Join(e.Root, "deploy/crd")), plural+".yaml")
}

func (e Env) fixture(name string) string { return filepath.Join(e.Root, "test/fixtures", name) }

// await polls until the condition holds. It fails immediately if the operator has ended: no plan survives that.
func (g *environment) await(ctx context.Context, limit time.Duration, what string, holds func(context.Context) (ok bool, saw string)) (took time.Duration, err error) {
	limit = time.Duration(float64(limit) * g.stretch)
	if g.Busy {
		limit = max(limit, busyLimit)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	began, saw := time.Now(), ""
	for {
		if err := g.alive(); err != nil {
			return time.Since(began), err
		}
		ok, now := holds(ctx)
		if ok {
			return time.Since(began), nil
		}
		if ctx.Err() == nil || saw == "" {
			saw = now // at the first look, and then not after the end, when all that is seen is that the time is over
		}
		select {
		case <-ctx.Done():
			return time.Since(began), fmt.Errorf("wait for %s: %w; last seen: %s%s", what, context.Cause(ctx), saw, g.lastWords())
		case <-tick.C:
		}
	}
}
