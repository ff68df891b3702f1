package convert

import (
	"bytes"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/convert"
	"stoic/schema"
	"stoic/training"
)

// Result is the result of a conversion: exactly one of Job and Rejection is set. Head is set in both
// cases. The informer's cache holds Results.
type Result struct {
	*training.Head
	Job       *training.Job
	Rejection *training.Rejection
	// Panic is set if the converter itself panicked on the object; the rejection reports it to the user.
	Panic *convert.Panic
}

// Object converts u. It is total: it returns for every input, never panics, never logs, is
// deterministic, does not change u and keeps no reference to it.
//
//	head      metadata and status, leniently           head.go, status.go, ledger.go
//	identity  is it of this kind, has it a name        convert.Reader.Spec
//	walk      does every value fit its type, and rules convert.Reader.Walk, shape.go
//	check     does it make sense                       policy.go, flat.go, replicaspecs.go, pod.go, name.go,
//	                                                   annotations.go, convert.Reader.PodTemplate, Kind.Check
//	lower     defaults, template, the kind's own part  replicaspecs.go, template.go, Kind.Lower, Kind.Warnings
//
// Each step reports all problems and continues with the valid parts, so that one rejection lists everything.
func Object(kind *training.Kind, u *unstructured.Unstructured) (result *Result) {
	var raw map[string]any
	if u != nil {
		raw = u.Object
	}
	defer func() {
		if cause := recover(); cause != nil {
			result = broken(kind, raw, cause)
		}
	}()
	return newReader(kind).read(raw)
}

// reader reads one object of a kind.
type reader struct {
	*convert.Reader
	kind *training.Kind
	// podRestartPolicy becomes Head.PodRestartPolicy.
	podRestartPolicy string
}

func newReader(kind *training.Kind) *reader { return &reader{Reader: convert.NewReader(), kind: kind} }

func (r *reader) read(raw map[string]any) *Result {
	head := r.head(raw)
	job := r.job(head, raw)
	head.Warnings, head.PodRestartPolicy = r.Warnings(), r.podRestartPolicy
	switch {
	case r.Count() > 0:
		return &Result{Head: head, Rejection: &training.Rejection{Head: head, Problems: r.Problems()}}
	case job == nil:
		panic("neither a job nor a problem") // reported by broken
	}
	return &Result{Head: head, Job: job}
}

// job converts the object to normal form, or returns nil if that is impossible. The result is only valid if no problem was reported.
func (r *reader) job(head *training.Head, raw map[string]any) *training.Job {
	whole := objectOf(r.kind)
	spec, ok := r.Spec(r.kind.Resource(), whole, raw)
	defer r.Leave()
	if !ok {
		return nil
	}
	meta, _ := raw["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	r.unlike(annotations)
	return r.spec(whole.Field("spec"), spec, head, annotations)
}

func (r *reader) spec(s *convert.Shape, raw map[string]any, head *training.Head, annotations map[string]any) *training.Job {
	before := r.Count()
	options := r.kind.Options()
	for key, value := range raw {
		if key != "runPolicy" && key != r.kind.ReplicaSpecsField && !r.isFlat(key, value) {
			r.Member(s, raw, key, value, reflect.Indirect(reflect.ValueOf(options)))
		}
	}
	sound := r.Count() == before

	r.EnterField(s, raw, "runPolicy")
	job := &training.Job{Head: head, Policy: r.policy(raw["runPolicy"])}
	r.Leave()
	r.flat(raw, &job.Policy)
	if job.Policy.Scheduling.Queue == "" {
		job.Policy.Scheduling.Queue, _ = annotations[r.kind.QueueAnnotation].(string) // no kind has an annotation without a name
	}
	r.EnterField(s, raw, r.kind.ReplicaSpecsField)
	rtypes, known := r.replicaSpecs(raw)
	r.Leave()
	r.name(head.Meta.Name, rtypes)
	if r.kind.Bound != nil {
		r.scaledName(head.Meta.Name, rtypes, r.kind.Bound(options))
	}
	if known {
		r.minAvailable(job.Policy.Scheduling.MinAvailable, rtypes)
		job.Annotations = r.annotations(annotations, rtypes)
	}
	if r.kind.Check != nil {
		r.Take(r.kind.Check(options, func(rtype string) bool {
			return slices.ContainsFunc(rtypes, func(d draft) bool { return d.Name == rtype })
		}))
	}
	if !sound || !known || head.Meta.Name == "" {
		return nil
	}
	job.ReplicaTypes = make([]training.ReplicaType, len(rtypes))
	e := convert.LendEncoder()
	defer e.GiveBack()
	for i := range rtypes {
		if r.Count() == 0 {
			rtypes[i].Template = rtypes[i].template(e, r.kind)
		}
		job.ReplicaTypes[i] = rtypes[i].ReplicaType
	}
	if r.Count() == 0 {
		job.Verbatim = verbatim(e, raw, r.kind.Verbatim)
	}
	// Lower reports problems of the job as a whole, so it only runs if the parts are what the user wrote.
	r.Take(r.kind.Lower(job, options), nil)
	if job.Policy.CleanPods == "" {
		job.Policy.CleanPods = training.CleanNone
	}
	if r.Count() > 0 {
		return job
	}
	r.EnterField(s, raw, r.kind.ReplicaSpecsField)
	r.warnAboutJob(job, rtypes)
	r.Leave()
	return job
}

// warnAboutJob warns of what does not keep an accepted job from running, but is probably not meant.
func (r *reader) warnAboutJob(job *training.Job, rtypes []draft) {
	r.warnAboutAdditions(job, rtypes)
	r.warnAboutEnd(job, rtypes)
	if r.kind.Warnings != nil {
		r.Take(nil, r.kind.Warnings(job))
	}
}

// verbatim returns the value at a path as the user wrote it; nil if there is no path or no value.
func verbatim(e *convert.Encoder, raw map[string]any, path []string) []byte {
	var value any
	for _, key := range path {
		value = raw[key]
		raw, _ = value.(map[string]any)
	}
	if value == nil {
		return nil
	}
	return bytes.Clone(e.Encode(value))
}

// broken returns the result if the converter itself panics. The rejection reports this defect of the operator in the
// status of the object, where a user sees it first.
func broken(kind *training.Kind, raw map[string]any, cause any) *Result {
	head := &training.Head{Kind: kind}
	func() {
		defer func() { _ = recover() }()
		head = newReader(kind).head(raw)
	}()
	return &Result{Head: head, Rejection: &training.Rejection{Head: head, Problems: []schema.Problem{convert.Broken(cause)}}, Panic: convert.NewPanic(cause)}
}
