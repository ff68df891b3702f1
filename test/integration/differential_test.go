package integration

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"stoic/schema"
	"stoic/test/untyped"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/kinds"
	"stoic/training/plan"
)

// How many malformed templates are tried; -differential.cases=-1 tries every change of every node.
var (
	differentialCases = flag.Int("differential.cases", 4000, "how many spoilt pod templates to show to the API server")
	differentialSeed  = flag.Uint64("differential.seed", 1, "which of them")
)

// TestDifferential compares the converter with the API server, which decides what can run.
//
//	converter  API server    is
//	job        accepts it    agreement
//	rejection  rejects it    agreement
//	rejection  accepts it    an over-rejection: we reject what Kubernetes can run
//	job        rejects it    an under-rejection: only FailedCreatePod events report it
//
// Both disagreements need an entry in a table of differential_exceptions_test.go that says why.
func TestDifferential(t *testing.T) {
	full(t)
	t.Parallel() // it mostly waits
	r := shared(t)
	r.kubectl(t, nil, "apply", "-f", "testdata/surroundings.yaml")
	config := rest.CopyConfig(r.config)
	config.WarningHandler = rest.NoWarnings{}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client := typed.CoreV1().RESTClient()
	bases := templates(t)
	var sound []trial
	for i, template := range bases {
		for _, kind := range kinds.All() {
			sound = append(sound, newTrial(kind, i, template))
		}
	}
	for _, f := range compareAll(t, client, sound) {
		if f.outcome != bothTake {
			t.Fatalf("no sound base: %v", f)
		}
	}
	var trials []trial
	for _, name := range oddNames() {
		c := newTrial(kinds.TFJob(), 3, bases[3])
		c.name, c.changes = name, []string{"name " + schema.Quote(name)}
		trials = append(trials, c)
	}
	trials = append(trials, drawTrials(bases, *differentialCases, rand.New(rand.NewPCG(*differentialSeed, 0)))...)
	failures := 0
	for _, f := range compareAll(t, client, trials) {
		if (f.outcome == onlyServerTakes || f.outcome == onlyWeTake) && !isExcused(f) {
			failures++
			if failures <= 40 {
				t.Errorf("%v", f)
			}
		}
	}
	t.Logf("%d trials, seed %d, %d disagreements", len(trials), *differentialSeed, failures)
}

// trial is a job with one worker whose template may be malformed.
type trial struct {
	kind     *training.Kind
	base     int
	name     string // of the job
	template any
	changes  []string // the changes of the template, in words
}

// newTrial returns the trial of a template for a job of a kind: the templates are written for a TFJob.
func newTrial(kind *training.Kind, base int, template any) trial {
	tf := kinds.TFJob()
	template = untyped.Replace(untyped.Clone(template), func(leaf any) any {
		switch leaf {
		case tf.Container:
			return cmp.Or(kind.Container, tf.Container)
		case tf.Port.Name:
			return cmp.Or(kind.Port.Name, tf.Port.Name)
		case int64(tf.Port.Number):
			return int64(cmp.Or(kind.Port.Number, tf.Port.Number))
		}
		return leaf
	})
	return trial{kind: kind, base: base, name: "probe", template: template}
}

// outcome is the outcome of a trial.
type outcome int

const (
	bothTake outcome = iota
	bothRefuse
	// jobsOwn: the problems are about fields that the API server does not know.
	jobsOwn
	onlyServerTakes
	onlyWeTake
)

func (o outcome) String() string {
	return [...]string{"both take it", "both refuse it", "a matter of the job", "over-rejection", "under-rejection"}[o]
}

// finding is the result of a trial.
type finding struct {
	trial
	outcome
	problems []schema.Problem
	refusal  *apierrors.StatusError // of the API server, if it rejected the object
	resource string                 // of the rejected object: pods or services
	spoilt   bool                   // it accepts the user's template without our additions
}

func (f finding) String() string {
	return fmt.Sprintf("%v of a %s of template %d with %q\n  problems: %v\n  API server: %v", f.outcome, f.kind.Name, f.base, f.changes, f.problems, f.refusal)
}

// compareAll runs all trials, several in parallel. The findings are in the order of the trials.
func compareAll(t *testing.T, client rest.Interface, trials []trial) []finding {
	t.Helper()
	found := make([]finding, len(trials))
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i, c := range trials {
		group.Go(func() (err error) {
			found[i], err = c.compare(ctx, client)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return found
}

// compare converts the job, and asks the API server for its pods and services, or for the user's template if the job is rejected.
func (c trial) compare(ctx context.Context, client rest.Interface) (finding, error) {
	f := finding{trial: c}
	result := convert.Object(c.kind, c.job())
	if result.Rejection == nil {
		for _, o := range firstObjects(result) {
			if err := f.ask(ctx, client, o.Resource.Plural, o.Body); err != nil {
				return f, err
			}
			if f.refusal != nil {
				f.outcome = onlyWeTake
				raw := finding{trial: c}
				body, isPod := c.pod()
				err := raw.ask(ctx, client, "pods", body)
				f.spoilt = isPod && o.Resource == schema.Pods() && raw.refusal == nil
				return f, err
			}
		}
		return f, nil
	}
	f.problems = slices.DeleteFunc(slices.Clone(result.Rejection.Problems), func(p schema.Problem) bool { return p.Code == schema.MissingContainer })
	if len(f.problems) == 0 {
		f.outcome = jobsOwn
		return f, nil
	}
	f.outcome = bothRefuse
	body, isPod := c.pod()
	if !isPod {
		return f, nil
	}
	err := f.ask(ctx, client, "pods", body)
	if err == nil && f.refusal == nil {
		err = f.ask(ctx, client, "services", c.service())
	}
	if f.refusal == nil {
		f.outcome = onlyServerTakes
	}
	return f, err
}

// restart returns the restart policy of the worker. They take turns, as they decide about parts of a template.
func (c trial) restart() training.RestartPolicy {
	if all := c.kind.RestartPolicies; all != nil {
		return all[(c.base+1)%len(all)]
	}
	all := training.RestartPolicies()
	return training.RestartPolicy(all[(c.base+1)%len(all)])
}

// job returns the object for the converter: decoded from JSON, as from an API server.
func (c trial) job() *unstructured.Unstructured {
	container := map[string]any{"name": cmp.Or(c.kind.Container, kinds.TFJob().Container), "image": "training:1"}
	rtypes := map[string]any{}
	for _, rtype := range c.kind.ReplicaTypes {
		if rtype.Required {
			rtypes[rtype.Name] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{container}}}}
		}
	}
	rtypes["Worker"] = map[string]any{"replicas": int64(1), "restartPolicy": string(c.restart()), "template": c.template}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": c.kind.APIVersion(),
		"kind":       c.kind.Name,
		"metadata":   map[string]any{"name": c.name, "namespace": "default", "uid": "1e0d5d0a-6c7f-4a55-9d6d-1d1c5b0b9c0e"},
		"spec":       map[string]any{c.kind.ReplicaSpecsField: rtypes},
	}}
}

// firstObjects returns the pods and services that a job begins with, once the other objects that it needs exist.
func firstObjects(result *convert.Result) []schema.Object {
	o := plan.Observed{Head: result.Head, Job: result.Job, Now: time.Unix(1_000_000_000, 0)}
	isFirst := func(made schema.Object) bool {
		return made.Resource == schema.Pods() || made.Resource == schema.Services()
	}
	for _, made := range plan.Make(o).Create {
		if isFirst(made) {
			continue
		}
		raw, _ := fromJSON(made.Body).(map[string]any)
		child := &schema.Child{Name: made.Name, UID: types.UID(made.Name), ResourceVersion: "1"}
		o.Dependents = append(o.Dependents, training.DependentOf(made.Resource, child, training.FormOf(made.Resource).StateOf(raw)))
	}
	return slices.DeleteFunc(plan.Make(o).Create, func(made schema.Object) bool { return !isFirst(made) })
}

// ask asks the API server whether it would create an object. The error says that it did not answer.
func (f *finding) ask(ctx context.Context, client rest.Interface, resource string, body []byte) error {
	err := client.Post().Resource(resource).Namespace("default").
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", "Ignore").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		Body(body).Do(ctx).Error()
	if err == nil {
		return nil
	}
	if !errors.As(err, &f.refusal) || f.refusal.ErrStatus.Code == 429 || f.refusal.ErrStatus.Code > 500 {
		return fmt.Errorf("%v: %w", *f, err)
	}
	f.resource = resource
	return nil
}

// pod returns the user's template as a pod, with the operator's additions. It is made from the raw template alone, without the
// converter and the planner. There is none if the template's metadata is not an object.
func (c trial) pod() (body []byte, ok bool) {
	template, ok := c.template.(map[string]any)
	if !ok {
		return nil, false
	}
	raw, ok := template["metadata"].(map[string]any)
	if !ok && template["metadata"] != nil {
		return nil, false
	}
	meta := map[string]any{"name": training.ChildName(c.name, "worker", 0), "labels": raw["labels"]}
	for _, key := range []string{"annotations", "finalizers"} {
		if raw[key] != nil {
			meta[key] = raw[key]
		}
	}
	if labels, ok := raw["labels"].(map[string]any); ok || raw["labels"] == nil {
		meta["labels"] = with(labels, training.LabelJob, c.name)
	}
	spec := template["spec"]
	if fields, ok := spec.(map[string]any); ok {
		spec = with(fields, "restartPolicy", c.restart().Pod())
	}
	return schema.JSON(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}), true
}

func (c trial) service() []byte {
	name := training.ChildName(c.name, "worker", 0)
	return schema.JSON(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"clusterIP": "None", "ports": []any{map[string]any{"port": 2222}}}})
}

// causes returns what the API server rejects, each with its place in the object; the message as a whole if it names none.
func (f finding) causes() []metav1.StatusCause {
	if d := f.refusal.ErrStatus.Details; d != nil && len(d.Causes) > 0 {
		return d.Causes
	}
	return []metav1.StatusCause{{Type: metav1.CauseType(f.refusal.ErrStatus.Reason), Message: f.refusal.ErrStatus.Message}}
}

// with returns a copy of an object that has another field.
func with(object map[string]any, field string, value any) map[string]any {
	copied := map[string]any{field: value}
	for key, old := range object {
		if key != field {
			copied[key] = old
		}
	}
	return copied
}

// drawTrials returns templates with one change each, in turn of every kind. A negative number asks for every change of every node.
func drawTrials(bases []any, n int, random *rand.Rand) []trial {
	type place struct {
		base, node int
		change     change
	}
	var all []place
	nodes := make([][]node, len(bases))
	for base, template := range bases {
		nodes[base] = nodesOf(template, "", nil)
		for i := range nodes[base][1:] { // the first is the template itself
			for _, c := range changes() {
				all = append(all, place{base, i + 1, c})
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if n < 0 {
		n = len(all)
	}
	var trials []trial
	for _, one := range all {
		if len(trials) == n {
			break
		}
		old := nodes[one.base][one.node]
		value, fits := one.change.of(untyped.Clone(old.value))
		if !fits {
			continue
		}
		at := one.node
		spoilt := untyped.Mutate(untyped.Clone(bases[one.base]), &at, value)
		kind := kinds.All()[len(trials)%len(kinds.All())]
		c := newTrial(kind, one.base, fromJSON(schema.JSON(spoilt))) // numbers get the types of a decoder, for example 3.0
		c.changes = []string{old.path + " " + one.change.name}
		trials = append(trials, c)
	}
	return trials
}
