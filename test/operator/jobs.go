package operator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"stoic/training"
	"stoic/training/convert"
)

// Jobs are the jobs of one kind, as the operator itself reads them.
type Jobs struct {
	Client dynamic.Interface
	Kind   *training.Kind
}

// In returns the client of the jobs in a namespace; "" is all.
func (j Jobs) In(namespace string) dynamic.ResourceInterface {
	return j.Client.Resource(runtimeschema.GroupVersionResource{Group: j.Kind.Group, Version: j.Kind.Version, Resource: j.Kind.Plural}).Namespace(namespace)
}

// Head returns metadata and status of a job; nil if it does not exist.
func (j Jobs) Head(ctx context.Context, namespace, name string) (*training.Head, error) {
	u, err := j.In(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", j.Kind.Name, namespace, name, err)
	}
	return convert.Object(j.Kind, u).Head, nil
}

// State returns the type of the last condition, if that is True; else "".
func State(status *training.Status) training.ConditionType {
	if n := len(status.Conditions); n > 0 && status.Conditions[n-1].Status == metav1.ConditionTrue {
		return status.Conditions[n-1].Type
	}
	return ""
}

// Describe formats conditions as "Created=True(TFJobCreated) Running=True(TFJobRunning)".
func Describe(status *training.Status) string {
	text := ""
	for i, c := range status.Conditions {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprintf("%s=%s(%s)", c.Type, c.Status, c.Reason)
	}
	return text
}

// AwaitState waits until a job is in a state.
func (j Jobs) AwaitState(ctx context.Context, namespace, name string, want training.ConditionType) (head *training.Head, took time.Duration, err error) {
	took, err = Until(ctx, fmt.Sprintf("%s %s/%s to be %s", j.Kind.Name, namespace, name, want), func() (bool, string) {
		now, err := j.Head(ctx, namespace, name)
		if err != nil {
			return false, err.Error()
		}
		if now == nil {
			return false, "no such job"
		}
		head = now
		return State(&now.Status) == want, "conditions " + Describe(&now.Status)
	})
	return head, took, err
}

// Canary creates a small job that ends well at once on simulated nodes, waits until it has succeeded, and deletes it. It shows
// that something else, such as a malformed object, does not disturb healthy jobs; took says how much it delays them.
func (j Jobs) Canary(ctx context.Context, namespace, name string) (took time.Duration, err error) {
	job := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": j.Kind.APIVersion(),
		"kind":       j.Kind.Name,
		"metadata":   map[string]any{"name": name},
		"spec":       j.canarySpec(),
	}}
	if _, err := j.In(namespace).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return 0, fmt.Errorf("create the canary: %w", err)
	}
	if _, took, err = j.AwaitState(ctx, namespace, name, training.Succeeded); err != nil {
		return took, err
	}
	if err := j.In(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return took, fmt.Errorf("delete the canary: %w", err)
	}
	return took, nil
}

// canarySpec returns a spec with one replica of the type that decides on the end of a job of the kind.
func (j Jobs) canarySpec() map[string]any {
	container := cmp.Or(j.Kind.Container, "main")
	replica := func() map[string]any {
		return map[string]any{"replicas": int64(1), "restartPolicy": "Never", "template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": "100ms"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": container, "image": "training:1"}}},
		}}
	}
	replicas := map[string]any{Leader(j.Kind): replica()}
	if j.Kind.Name == "MPIJob" {
		replicas["Worker"] = replica()
	}
	return map[string]any{j.Kind.ReplicaSpecsField: replicas}
}

// Leader returns the name of the replica type that decides on the end of a job of a kind.
func Leader(kind *training.Kind) string {
	for _, rtype := range kind.ReplicaTypes {
		if rtype.Required {
			return rtype.Name
		}
	}
	return "Worker"
}
