package integration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// trial is a job with one worker whose template may be malformed.
type trial struct {
	kind     *training.Kind
	base     int
	name     string // of the job; "probe" if empty
	template any
	launcher bool     // the template is that of the launcher, which a batch/v1 Job creates, and not that of the worker
	changes  []string // the changes of the template, in words
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

// finding is the result of a trial.
type finding struct {
	trial
	outcome
	problems []schema.Problem
	refusal  *apierrors.StatusError // of the API server, if it rejected the object
	resource string                 // of the rejected object: pods or services
	spoilt   bool                   // it accepts the user's template without our additions
	trouble  error                  // the error that kept the API server from answering
}

// comparison calls the converter and the API server. It caches the server's answers.
type comparison struct {
	client   rest.Interface
	batch    rest.Interface
	answers  sync.Map // body to *apierrors.StatusError
	requests atomic.Int64
}

// newComparison makes a client without warnings of the API server.
func newComparison(t *testing.T, r *rig) *comparison {
	t.Helper()
	config := rest.CopyConfig(r.config)
	config.WarningHandler = rest.NoWarnings{}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &comparison{client: typed.CoreV1().RESTClient(), batch: typed.BatchV1().RESTClient()}
}

// restart policies go round, as they decide about parts of a template.
func (c trial) restart() training.RestartPolicy {
	if all := c.kind.RestartPolicies; all != nil {
		return all[(c.base+1)%len(all)]
	}
	all := training.RestartPolicies()
	return training.RestartPolicy(all[(c.base+1)%len(all)])
}

func (c trial) jobName() string {
	if c.name == "" {
		return "probe"
	}
	return c.name
}

// job returns the object for the converter: decoded from JSON, as from an API server.
func (c trial) job() *unstructured.Unstructured {
	rtypes := map[string]any{}
	plain := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": containerOf(c.kind), "image": "training:1"}}}}
	for _, rtype := range c.kind.ReplicaTypes {
		if rtype.Required {
			rtypes[rtype.Name] = map[string]any{"template": plain}
		}
	}
	of := "Worker"
	if c.launcher {
		rtypes["Worker"], of = map[string]any{"replicas": int64(1), "template": plain}, "Launcher"
	}
	rtypes[of] = map[string]any{"replicas": int64(1), "restartPolicy": string(c.restart()), "template": c.template}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": c.kind.APIVersion(),
		"kind":       c.kind.Name,
		"metadata":   map[string]any{"name": c.jobName(), "namespace": "default", "uid": "1e0d5d0a-6c7f-4a55-9d6d-1d1c5b0b9c0e"},
		"spec":       map[string]any{c.kind.ReplicaSpecsField: rtypes},
	}}
}

// as returns the trial with a job of another kind: the templates are written for a TFJob.
func (c trial) as(kind *training.Kind) trial {
	c.kind, c.template = kind, inWordsOf(c.template, kind)
	return c
}

// containerOf returns the container name of a kind: that of the templates, if the kind accepts any.
func containerOf(kind *training.Kind) string { return cmp.Or(kind.Container, kinds.TFJob().Container) }

// inWordsOf replaces the container by that of a kind and, if the kind has one, the port.
func inWordsOf(v any, kind *training.Kind) any {
	tf := kinds.TFJob()
	return untyped.Replace(v, func(leaf any) any {
		switch leaf {
		case tf.Container:
			return containerOf(kind)
		case tf.Port.Name:
			return cmp.Or(kind.Port.Name, tf.Port.Name)
		case int64(tf.Port.Number):
			return int64(cmp.Or(kind.Port.Number, tf.Port.Number))
		}
		return leaf
	})
}

func (c *comparison) compare(ctx context.Context, t trial) finding {
	f := finding{trial: t}
	result := convert.Object(t.kind, t.job())
	if result.Rejection != nil {
		c.compareRejection(ctx, &f, result.Rejection)
		return f
	}
	f.outcome = bothTake
	created := begin(result)
	if len(created) != objects(result.Job) {
		f.trouble = fmt.Errorf("%v: %d pods and services planned", f, len(created))
	}
	for _, o := range created {
		c.ask(ctx, &f, o.Resource.Plural, o.Body)
		if f.refusal != nil {
			f.outcome = onlyWeTake
			f.spoilt = o.Resource != schema.Services() && c.takesRaw(ctx, t)
			break
		}
	}
	return f
}

// podOf returns the pod that the controller of a batch/v1 Job creates.
func podOf(job schema.Object) schema.Object {
	var body struct {
		Spec struct{ Template map[string]any }
	}
	if err := json.Unmarshal(job.Body, &body); err != nil {
		panic(err) // made of JSON
	}
	pod := body.Spec.Template
	meta, _ := pod["metadata"].(map[string]any)
	meta["name"] = job.Name + "-x"
	pod["apiVersion"], pod["kind"] = "v1", "Pod"
	return schema.Object{Resource: schema.Pods(), Name: job.Name + "-x", Body: asJSON(pod)}
}

// begin returns the pods and services that a job begins with, once the other objects that it needs exist. If a batch/v1 Job
// creates the pod, it returns the pod and the Job.
func begin(result *convert.Result) []schema.Object {
	o := plan.Observed{Head: result.Head, Job: result.Job, Now: time.Unix(1_000_000_000, 0)}
	p := plan.Make(o)
	for _, made := range p.Create {
		if made.Resource == schema.Pods() || made.Resource == schema.Services() {
			continue
		}
		raw, _ := fromJSON(made.Body).(map[string]any)
		state := training.FormOf(made.Resource).StateOf(raw)
		o.Dependents = append(o.Dependents, training.DependentOf(made.Resource, &schema.Child{Name: made.Name, UID: types.UID(made.Name), ResourceVersion: "1"}, state))
	}
	var created []schema.Object
	for _, made := range plan.Make(o).Create {
		switch made.Resource {
		case schema.Jobs():
			created = append(created, podOf(made), made)
		case schema.Pods(), schema.Services():
			created = append(created, made)
		}
	}
	return created
}

// objects returns how many pods and services a job of one replica of each type begins with.
func objects(job *training.Job) (n int) {
	if slices.Contains(job.Kind.Unwatched, schema.Services()) {
		n++
	}
	for _, t := range job.ReplicaTypes {
		if t.After == "" {
			n++
		}
		if t.Batch {
			n++
		}
		if !t.NoService {
			n++
		}
	}
	return n
}

// takesRaw reports whether the API server would create a pod of the user's unchanged template.
func (c *comparison) takesRaw(ctx context.Context, t trial) bool {
	body, ok := t.pod()
	f := finding{trial: t}
	if ok {
		c.ask(ctx, &f, "pods", body)
	}
	return ok && f.refusal == nil && f.trouble == nil
}

// compareRejection sends a pod of the user's unchanged template, and a service of the name, to the API server.
func (c *comparison) compareRejection(ctx context.Context, f *finding, rejection *training.Rejection) {
	f.problems = slices.DeleteFunc(slices.Clone(rejection.Problems), func(p schema.Problem) bool { return p.Code == schema.MissingContainer })
	if len(f.problems) == 0 {
		f.outcome = jobsOwn
		return
	}
	f.outcome = bothRefuse
	body, ok := f.pod()
	if !ok {
		return
	}
	c.ask(ctx, f, "pods", body)
	if f.refusal == nil && f.name != "" {
		c.ask(ctx, f, "services", f.service())
	}
	if f.refusal == nil {
		f.outcome = onlyServerTakes
	}
}

// ask asks the API server whether it would create an object.
func (c *comparison) ask(ctx context.Context, f *finding, resource string, body []byte) {
	answer, known := c.answers.Load(string(body))
	if !known {
		c.requests.Add(1)
		client := c.client
		if resource == schema.Jobs().Plural {
			client = c.batch
		}
		err := client.Post().Resource(resource).Namespace("default").
			Param("dryRun", metav1.DryRunAll).Param("fieldValidation", "Ignore").
			SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
			Body(body).Do(ctx).Error()
		refusal := &apierrors.StatusError{}
		switch {
		case err == nil:
			refusal = nil
		case !errors.As(err, &refusal), refusal.ErrStatus.Code == 429, refusal.ErrStatus.Code > 500:
			f.trouble = fmt.Errorf("%v: %w", *f, err)
			return
		}
		answer = refusal
		c.answers.Store(string(body), refusal)
	}
	if f.refusal, _ = answer.(*apierrors.StatusError); f.refusal != nil {
		f.resource = resource
	}
}

// pod returns the user's template as a pod, with the operator's additions. It is made from the raw template alone, without the
// converter and the planner. There is none if the template's metadata is not an object.
func (t trial) pod() (body []byte, ok bool) {
	template, ok := t.template.(map[string]any)
	if !ok {
		return nil, false
	}
	raw, ok := template["metadata"].(map[string]any)
	if !ok && template["metadata"] != nil {
		return nil, false
	}
	meta := map[string]any{"name": training.ChildName(t.jobName(), "worker", 0), "labels": raw["labels"]}
	for _, key := range []string{"annotations", "finalizers"} {
		if raw[key] != nil {
			meta[key] = raw[key]
		}
	}
	if labels, ok := raw["labels"].(map[string]any); ok || raw["labels"] == nil {
		labels = maps.Clone(labels)
		if labels == nil {
			labels = map[string]any{}
		}
		labels[training.LabelJob] = t.jobName()
		meta["labels"] = labels
	}
	spec := template["spec"]
	if fields, ok := spec.(map[string]any); ok {
		fields = maps.Clone(fields)
		fields["restartPolicy"] = t.restart().Pod()
		spec = fields
	}
	return asJSON(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}), true
}

func (t trial) service() []byte {
	name := training.ChildName(t.jobName(), "worker", 0)
	return asJSON(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"clusterIP": "None", "ports": []any{map[string]any{"port": 2222}}}})
}

func asJSON(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // made of JSON
	}
	return b.Bytes()
}

// causes returns what the API server rejects, each with its place in the object; the message as a whole if it names none.
func (f finding) causes() []metav1.StatusCause {
	if d := f.refusal.ErrStatus.Details; d != nil && len(d.Causes) > 0 {
		return d.Causes
	}
	return []metav1.StatusCause{{Type: metav1.CauseType(f.refusal.ErrStatus.Reason), Message: f.refusal.ErrStatus.Message}}
}
