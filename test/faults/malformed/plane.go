package malformed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stoic/test/faults/mutation"
	"stoic/test/faults/scenario"
)

const (
	// quietSpace is the namespace of the healthy objects that are timed; farSpace is the other namespace that objects may name.
	quietSpace, farSpace = "malformed-quiet", "malformed-far"
	// spaces is how many namespaces the malformed objects share.
	spaces = 3
	// patience is how long nothing may change before a wait fails.
	patience = 2 * time.Minute
	// glance is the interval of polling.
	glance = 50 * time.Millisecond
)

// plane is a control plane, as the administrator sees it, with all that is set up once.
type plane struct {
	Options
	kinds      []*kind
	programs   []*program
	client     dynamic.Interface
	defined    dynamic.Interface // where custom resources are defined
	typed      kubernetes.Interface
	raw        rest.Interface
	sight      *sight
	bystanders map[string]types.UID // by namespace
	names      int
}

func space(i int) string { return fmt.Sprint("malformed-", i%spaces) }

// open creates the namespaces and opens the CRDs.
func open(ctx context.Context, o Options) (p *plane, err error) {
	p = &plane{Options: o, bystanders: map[string]types.UID{}}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for logs: %w", err)
	}
	if p.programs, err = programsOf(o); err != nil {
		return nil, err
	}
	var operators []*scenario.Operator
	for _, of := range o.Programs {
		operators = append(operators, of.Operator)
	}
	if p.kinds, err = kindsOf(o.Root, operators); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(o.Config)
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	if p.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make the administrator's client: %w", err)
	}
	if p.defined, err = dynamic.NewForConfig(o.Definitions); err != nil {
		return nil, fmt.Errorf("make the client that defines custom resources: %w", err)
	}
	if p.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make the administrator's client: %w", err)
	}
	p.raw = p.typed.CoreV1().RESTClient()
	for _, name := range []string{quietSpace, farSpace, space(0), space(1), space(2)} {
		if err := p.namespace(ctx, name); err != nil {
			return nil, err
		}
	}
	for _, k := range p.kinds {
		if err := p.takeAnything(ctx, k); err != nil {
			return nil, err
		}
	}
	p.sight, err = look(ctx, p.client, p.kinds)
	return p, err
}

func (p *plane) namespace(ctx context.Context, name string) error {
	if _, err := p.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make a namespace: %w", err)
	}
	made, err := p.typed.CoreV1().ConfigMaps(name).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: mutation.Bystander}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make an object of somebody else's: %w", err)
	}
	p.bystanders[name] = made.UID
	return nil
}

// takeAnything replaces the CRD of a kind by the open one, and waits until that takes effect.
func (p *plane) takeAnything(ctx context.Context, k *kind) error {
	all := p.defined.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err := p.await(ctx, "the open CRD of "+k.name+" to be taken", func() (bool, string) {
		now, err := all.Get(ctx, k.open.GetName(), metav1.GetOptions{})
		if err == nil {
			now.Object["spec"] = k.open.DeepCopy().Object["spec"]
			_, err = all.Update(ctx, now, metav1.UpdateOptions{})
		}
		return err == nil, fmt.Sprint(err)
	}); err != nil {
		return err
	}
	return p.await(ctx, "the open CRD of "+k.name+" to be in force", func() (bool, string) {
		saw := ""
		for field, declared := range k.shipped.Properties["spec"].Properties {
			wrong := any(int64(7))
			if declared.Type == "integer" || declared.Type == "number" || declared.XIntOrString {
				wrong = []any{}
			}
			odd := map[string]any{"apiVersion": k.Resource.GroupVersion().String(), "kind": k.Name, "metadata": map[string]any{"name": "probe"}, "spec": map[string]any{field: wrong}}
			err := p.collection(p.raw.Post(), k, space(0)).Param("dryRun", "All").Body(body(odd, "")).Do(ctx).Error()
			if err == nil {
				return true, ""
			}
			saw = err.Error() // the scale subresource may look into a field
		}
		return false, saw
	})
}

// collection returns a request for the objects of a kind in a namespace, in JSON.
func (p *plane) collection(r *rest.Request, k *kind, namespace string) *rest.Request {
	words := []string{"apis", k.Resource.Group, k.Resource.Version}
	if !k.Cluster {
		words = append(words, "namespaces", namespace)
	}
	return r.AbsPath(append(words, k.Resource.Resource)...).SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json")
}

// send sends a request and reads the object in the answer.
func send(ctx context.Context, r *rest.Request) (*unstructured.Unstructured, error) {
	text, err := r.Do(ctx).Raw()
	if err != nil {
		return nil, err //nolint:wrapcheck // whoever asks says what for
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("read what is stored: %w", err)
	}
	return u, nil
}

// await waits until a condition holds, as long as something that it sees changes.
func (p *plane) await(ctx context.Context, what string, holds func() (ok bool, saw string)) error {
	last, moved := "", time.Now()
	for {
		ok, saw := holds()
		if ok {
			return nil
		}
		if saw != last {
			last, moved = saw, time.Now()
		}
		if time.Since(moved) > patience {
			return fmt.Errorf("waited for %s; for %v saw only %s", what, patience, strings.ToValidUTF8(last[:min(len(last), 2000)], "?"))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-time.After(glance):
		}
	}
}

// refused reports whether the API server rejects the object for good.
func refused(err error) bool {
	status := &apierrors.StatusError{}
	if !errors.As(err, &status) {
		return false
	}
	code := status.ErrStatus.Code
	return code >= 400 && code < 500 && code != 429 && code != 409 || apierrors.IsAlreadyExists(err) || code == 500 && strings.Contains(err.Error(), "etcdserver: request is too large")
}
