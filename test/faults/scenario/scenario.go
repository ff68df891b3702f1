package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"stoic/test/faults/history"
)

// Scenario is one run.
type Scenario struct {
	Name     string
	Operator *Operator // whose scenario it is
	Resource schema.GroupVersionResource
	// Paths are those of the fields for which the job is rejected at some point of its run.
	Paths []string
	// Manifest returns the object of that name, in YAML. {namespace} and {elsewhere} are replaced; see Places.
	Manifest func(name string) string
	Steps    []Step
	// End: the run has reached its end, and nothing more will change.
	End Check
}

// Check reports whether the view is as it should be, and what it saw.
type Check = func(history.View) (ok bool, saw string)

// Step is what the user or a kubelet does when the time has come. When must also hold after Do was done.
type Step struct {
	Name string
	When Check
	Do   func(context.Context, Actor) error
}

// Actor takes the steps as the user, the kubelets and the schedulers, with an administrator's permissions.
type Actor struct {
	Client         dynamic.Interface
	Namespace, Job string
	Run            *history.Run
}

// Places are the namespaces of a run: its sandbox's, and another one.
type Places struct{ Namespace, Elsewhere string }

// Subject returns the subject of the run, if the object has that name.
func (s Scenario) Subject(p Places, name string) history.Subject {
	return history.Subject{Resource: s.Resource, Namespace: p.Namespace, Name: name, Also: p.Elsewhere}
}

// fill replaces {name}, {namespace} and {elsewhere} by their values in the run of a subject.
func fill(text string, s history.Subject) string {
	return strings.NewReplacer("{name}", s.Name, "{namespace}", s.Namespace, "{elsewhere}", s.Also).Replace(text)
}

// Run creates the object and takes the steps when their time comes, until the run is at its end.
func (s Scenario) Run(ctx context.Context, a Actor) error {
	begin := Step{Name: "create the job", When: always, Do: func(ctx context.Context, a Actor) error { return a.create(ctx, s) }}
	for _, step := range append([]Step{begin}, s.Steps...) {
		if err := take(ctx, a, step); err != nil {
			return fmt.Errorf("scenario %s, step %q: %w", s.Name, step.Name, err)
		}
	}
	if err := a.Run.Await(ctx, "its end", s.End); err != nil {
		return fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return nil
}

// pauseAfter is the pause after an error that may not recur.
const pauseAfter = 100 * time.Millisecond

// take takes a step. It retries if the API server does not answer, or if an object has changed meanwhile.
func take(ctx context.Context, a Actor, step Step) error {
	var last error
	for {
		if err := a.Run.Await(ctx, "the time of the step", step.When); err != nil {
			return errors.Join(err, last)
		}
		last = step.Do(ctx, a)
		if last == nil || isHopeless(last) {
			return last
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), last)
		case <-time.After(pauseAfter):
		}
	}
}

// isHopeless reports whether the request itself is wrong, which is a bug of this package.
func isHopeless(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err)
}

// Primary returns the client for the resource and namespace of the run's object.
func (a Actor) Primary() dynamic.ResourceInterface {
	s := a.Run.Subject()
	return a.Client.Resource(s.Resource).Namespace(s.Namespace)
}

// create creates the object of a scenario if it does not exist.
func (a Actor) create(ctx context.Context, s Scenario) error {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(fill(s.Manifest(a.Job), a.Run.Subject())), &u.Object); err != nil {
		return fmt.Errorf("read the manifest of scenario %s: %w", s.Name, err)
	}
	made, err := a.Primary().Create(ctx, u, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = a.Primary().Get(ctx, u.GetName(), metav1.GetOptions{})
	}
	if err != nil {
		return fmt.Errorf("create %s %s/%s: %w", u.GetKind(), a.Namespace, u.GetName(), err)
	}
	return a.Run.AwaitReported(ctx, made)
}

// remove deletes one object, with its UID as a precondition.
func (a Actor) remove(ctx context.Context, u *unstructured.Unstructured, propagation metav1.DeletionPropagation) error {
	if u == nil || u.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := u.GetUID()
	options := metav1.DeleteOptions{PropagationPolicy: &propagation, Preconditions: &metav1.Preconditions{UID: &uid}}
	if u.GetKind() == "Pod" {
		options.GracePeriodSeconds = new(int64)
	}
	err := a.objectsLike(u).Delete(ctx, u.GetName(), options)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s %s/%s: %w", u.GetKind(), a.Namespace, u.GetName(), err)
	}
	later := u.DeepCopy()
	later.SetResourceVersion(strconv.FormatUint(history.Revision(u)+1, 10)) // a lower bound: the version of the deletion is not known
	return a.Run.AwaitReported(ctx, later)
}

// objectsLike returns the client for the resource and namespace of an object.
func (a Actor) objectsLike(u *unstructured.Unstructured) dynamic.ResourceInterface {
	return a.Client.Resource(a.Run.ResourceOf(u.GetUID())).Namespace(u.GetNamespace())
}
