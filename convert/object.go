package convert

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
)

// Result is what an object turned out to be: exactly one of Job and Rejection is set. Head is that of
// whichever it is. It is what the informer's store holds.
type Result struct {
	*schema.Head
	Job       *schema.Job
	Rejection *schema.Rejection
}

// Object says what u is. It is total: it returns for every input, never panics, never logs, gives the same
// answer each time, does not change u and keeps nothing of it.
//
//	head      metadata and status, leniently           head.go, status.go
//	identity  is it of this kind, has it a name        head.go
//	walk      does every value fit its type            walk.go, scalar.go, shape.go
//	check     does it make sense                       policy.go, roles.go, pod.go, container.go, name.go
//	lower     defaults, template, the kind's own part  roles.go, template.go, Kind.Lower
//
// Each step tells all it finds and goes on with what is sound, so that one look names everything.
func Object(kind *schema.Kind, u *unstructured.Unstructured) (result *Result) {
	var raw map[string]any
	if u != nil {
		raw = u.Object
	}
	defer func() {
		if cause := recover(); cause != nil {
			result = broken(kind, raw, cause)
		}
	}()
	r := &reader{kind: kind}
	result = r.read(raw)
	if r.problems.count > toldLimit || r.warnings.count > toldLimit {
		// Maps have no order: which findings were kept was chance. Few objects are as bad as this.
		r = &reader{kind: kind, ordered: true}
		result = r.read(raw)
	}
	return result
}

// read is one pass over the object.
func (r *reader) read(raw map[string]any) *Result {
	head := r.head(raw)
	r.identity(raw)
	job := r.job(head, raw)
	head.Warnings = r.warnings.list()
	if job == nil && r.problems.count == 0 {
		panic("no job and no problem") // told by broken
	}
	if r.problems.count > 0 {
		return &Result{Head: head, Rejection: &schema.Rejection{Head: head, Problems: r.problems.list()}}
	}
	return &Result{Head: head, Job: job}
}

// job brings the spec to normal form; nil if it is too far from one. It is a job only if nothing was told.
func (r *reader) job(head *schema.Head, raw map[string]any) *schema.Job {
	whole := objectOf(r.kind)
	for key := range r.entries(raw) {
		if whole.fields[key] == nil {
			step := path{key: key, within: raw, shape: whole}
			r.unknown(&step, whole)
		}
	}
	p := path{key: "spec", shape: whole}
	spec, ok := raw["spec"].(map[string]any)
	if raw["spec"] == nil {
		r.problem(&p, schema.MissingField, "", "be set", "")
		return nil
	}
	if !ok {
		r.mismatch(&p, whole.fields["spec"].shape, raw["spec"])
		return nil
	}
	return r.spec(&p, whole.fields["spec"].shape, spec, head)
}

func (r *reader) spec(p *path, s *shape, raw map[string]any, head *schema.Head) *schema.Job {
	before := r.problems.count
	options := r.kind.Options()
	var policy schema.RunPolicySpec
	own := reflect.Indirect(reflect.ValueOf(options))
	for key, value := range r.entries(raw) {
		switch key {
		case r.kind.RolesField: // see below
		case "runPolicy":
			step := path{parent: p, key: key, within: raw, shape: s}
			r.walk(&step, s.fields[key].shape, value, reflect.ValueOf(&policy).Elem())
		default:
			r.member(p, s, raw, key, value, own)
		}
	}
	decoded := r.problems.count == before

	step := path{parent: p, key: "runPolicy", within: raw, shape: s}
	fields, _ := raw["runPolicy"].(map[string]any)
	job := &schema.Job{Head: head, Policy: r.policy(&step, &policy, fields)}

	step = path{parent: p, key: r.kind.RolesField, within: raw, shape: s}
	roles, sound := r.roles(&step, raw[r.kind.RolesField])
	r.name(head.Meta.Name, roles)
	if !sound || !decoded || head.Meta.Name == "" {
		return nil
	}
	job.Roles = make([]schema.Role, len(roles))
	for i := range roles {
		if r.problems.count == 0 {
			roles[i].Template = roles[i].template(r.kind)
		}
		job.Roles[i] = roles[i].Role
	}
	r.lower(job, options)
	return job
}

// lower lets the kind finish the job. It tells of the job as a whole, so it is asked only if the roles and
// the kind's own fields are what their author wrote.
func (r *reader) lower(job *schema.Job, options any) {
	for _, problem := range r.kind.Lower(job, options) {
		r.problems.count++
		if !r.problems.full() {
			r.problems.told = append(r.problems.told, problem)
		}
	}
}

// list is all that was found, in order of path, and how much more there was.
func (f *findings) list() []schema.Problem {
	if f.count > len(f.told) {
		f.told = append(f.told, schema.Problem{Code: schema.InvalidValue, Path: "spec",
			Found: fmt.Sprintf("%d problems", f.count), Hint: fmt.Sprintf("the first %d are listed", len(f.told))})
	}
	return schema.SortProblems(f.told)
}

// broken is the answer if the converter itself fails: a defect of ours, told to the object's author because
// nobody else is looking.
func broken(kind *schema.Kind, raw map[string]any, cause any) *Result {
	head := &schema.Head{Kind: kind}
	func() {
		defer func() { _ = recover() }()
		r := &reader{kind: kind}
		head = r.head(raw)
	}()
	return &Result{Head: head, Rejection: &schema.Rejection{Head: head, Problems: []schema.Problem{{
		Code: schema.InvalidValue, Path: "spec", Found: "an object on which the operator fails with " + schema.Quote(fmt.Sprint(cause)),
		Hint: "this is a bug in the operator, not in the object; please report it"}}}}
}
