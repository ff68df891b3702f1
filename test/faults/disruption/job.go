package disruption

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"stoic/training"
	"stoic/training/kinds"
)

// job is what a plan submits.
type job struct {
	kind            *training.Kind
	namespace, name string
	workers         int
	// runs is how long each worker runs before it succeeds; 0 is forever.
	runs time.Duration
}

// end returns the state that the job reaches and stays in.
func (j job) end() training.ConditionType {
	if j.runs == 0 {
		return training.Running
	}
	return training.Succeeded
}

func (j job) String() string { return fmt.Sprintf("%s %s/%s", j.kind.Name, j.namespace, j.name) }

// object returns the job as its user writes it. The existing scheduler places its pods, whatever gang they belong to.
func (j job) object() *unstructured.Unstructured {
	annotations := map[string]any{}
	if j.runs > 0 {
		annotations = map[string]any{"simulation.stoic/exit-code": "0", "simulation.stoic/run-for": j.runs.String()}
	}
	rtypes := map[string]any{}
	for name, replicas := range j.replicas() {
		rtypes[name] = map[string]any{"replicas": int64(replicas), "restartPolicy": "Never",
			"template": map[string]any{
				"metadata": map[string]any{"annotations": annotations},
				"spec": map[string]any{"schedulerName": "default-scheduler",
					"containers": []any{map[string]any{"name": j.kind.Container, "image": "training:1"}}},
			}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": j.kind.APIVersion(), "kind": j.kind.Name,
		"metadata": map[string]any{"name": j.name, "namespace": j.namespace},
		"spec":     map[string]any{j.kind.ReplicaSpecsField: rtypes},
	}}
}

// replicas returns the numbers by replica type: the workers, and one of each that the kind requires.
func (j job) replicas() map[string]int {
	replicas := map[string]int{"Worker": j.workers}
	for _, rtype := range j.kind.ReplicaTypes {
		if rtype.Required {
			replicas[rtype.Name] = 1
		}
	}
	return replicas
}

// pods returns how many pods a job has.
func (j job) pods() (sum int) {
	for _, replicas := range j.replicas() {
		sum += replicas
	}
	return sum
}

func (g *environment) jobs(kind *training.Kind, namespace string) dynamic.ResourceInterface {
	return g.jobsAs(kind.Version, kind, namespace)
}

// jobsAs returns the jobs of a kind in one of its versions.
func (g *environment) jobsAs(version string, kind *training.Kind, namespace string) dynamic.ResourceInterface {
	return g.dynamic.Resource(runtimeschema.GroupVersionResource{Group: kind.Group, Version: version, Resource: kind.Plural}).Namespace(namespace)
}

// submit creates jobs, in the version that their users write. Not every handler serves a kind that has just been established: it
// retries after 404.
func (g *environment) submit(ctx context.Context, jobs ...job) error {
	for _, j := range jobs {
		var refused error
		_, err := g.await(ctx, settled, j.String()+" to be taken", func(ctx context.Context) (bool, string) {
			err := g.create(ctx, g.authored(j.kind), j)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
				refused = err
			}
			return err == nil || refused != nil, fmt.Sprint(err)
		})
		if err := errors.Join(err, refused); err != nil {
			return fmt.Errorf("submit %s: %w", j, err)
		}
	}
	return nil
}

// authored returns the version in which users write jobs of a kind: a converted one, if there is one.
func (e Env) authored(kind *training.Kind) string {
	if e.webhook != nil && kind.Name == kinds.TFJob().Name {
		return converting
	}
	return kind.Version
}

// create creates a job in a version of its kind; the fields of these jobs are in the same place in each.
func (g *environment) create(ctx context.Context, version string, j job) error {
	object := j.object()
	object.SetAPIVersion(j.kind.Group + "/" + version)
	_, err := g.jobsAs(version, j.kind, j.namespace).Create(ctx, object, metav1.CreateOptions{})
	return err //nolint:wrapcheck // the caller checks its status code
}

// state returns the last condition of a job that is True, or "".
func (g *environment) state(ctx context.Context, j job) (training.ConditionType, error) {
	u, err := g.jobs(j.kind, j.namespace).Get(ctx, j.name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("get %s: %w", j, err)
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	state := training.ConditionType("")
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["status"] == "True" {
			state = training.ConditionType(fmt.Sprint(condition["type"]))
		}
	}
	return state, nil
}

// awaitEnds waits until every job is in its end state.
func (g *environment) awaitEnds(ctx context.Context, limit time.Duration, jobs ...job) (time.Duration, error) {
	left := append([]job(nil), jobs...)
	return g.await(ctx, limit, fmt.Sprintf("%d jobs to come to their ends", len(jobs)), func(ctx context.Context) (bool, string) {
		for len(left) > 0 {
			state, err := g.state(ctx, left[0])
			if err != nil || state != left[0].end() {
				return false, fmt.Sprintf("%s is %q (%v), shall be %s; %d are not there yet", left[0], state, err, left[0].end(), len(left))
			}
			left = left[1:]
		}
		return true, ""
	})
}

// awaitLive waits until the operator has set a condition of a job.
func (g *environment) awaitLive(ctx context.Context, limit time.Duration, j job) error {
	_, err := g.await(ctx, limit, "the operator to see "+j.String(), func(ctx context.Context) (bool, string) {
		state, err := g.state(ctx, j)
		return state != "", fmt.Sprint("no condition", err)
	})
	return err
}

// sound checks the pods of a namespace when all has settled: each belongs to a job that exists, no replica has two pods that have
// not ended, and a job that runs forever has all its pods.
func (g *environment) sound(ctx context.Context, namespace string, jobs ...job) error {
	owners := map[types.UID]job{}
	for _, j := range jobs {
		u, err := g.jobs(j.kind, namespace).Get(ctx, j.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get %s: %w", j, err)
		}
		owners[u.GetUID()] = j
	}
	pods, err := g.typed.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	live := map[string]int{}
	count := map[types.UID]int{}
	for i := range pods.Items {
		p := &pods.Items[i]
		owner := metav1.GetControllerOf(p)
		if owner == nil || owners[owner.UID].kind == nil {
			return fmt.Errorf("pod %s/%s is left over: no job has it", namespace, p.Name)
		}
		count[owner.UID]++
		if p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			replica := string(owner.UID) + " " + p.Labels[training.LabelReplicaType] + " " + p.Labels[training.LabelReplicaIndex]
			if live[replica]++; live[replica] > 1 {
				return fmt.Errorf("replica %s of job %s has two pods that have not ended", p.Name, owner.Name)
			}
		}
	}
	for uid, j := range owners {
		if j.runs == 0 && count[uid] != j.pods() {
			return fmt.Errorf("%s has %d pods, shall have %d", j, count[uid], j.pods())
		}
	}
	return nil
}

// awaitSound waits until the pods are sound.
func (g *environment) awaitSound(ctx context.Context, limit time.Duration, namespace string, jobs ...job) (time.Duration, error) {
	return g.await(ctx, limit, "the pods of "+namespace+" to be as they must be", func(ctx context.Context) (bool, string) {
		err := g.sound(ctx, namespace, jobs...)
		return err == nil, fmt.Sprint(err)
	})
}
