package convert

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

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
//	walk      does every value fit its type, and rules walk.go, scalar.go, shape.go, rule.go, rules.go, together.go
//	check     does it make sense                       policy.go, roles.go, pod.go, container.go, name.go, Kind.Check
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
	return newReader(kind).read(raw)
}

func (r *reader) read(raw map[string]any) *Result {
	head := r.head(raw)
	r.identity(raw)
	job := r.job(head, raw)
	head.Warnings = r.warnings.list()
	switch {
	case r.opaques > valueLimit: // told alone: what was seen before the limit depends on the order of keys
		return &Result{Head: head, Rejection: &schema.Rejection{Head: head, Problems: []schema.Problem{{Code: schema.TooLarge, Path: "spec",
			Found: "too many values in fields that no library knows", Want: "have fewer"}}}}
	case r.problems.count > 0:
		return &Result{Head: head, Rejection: &schema.Rejection{Head: head, Problems: r.problems.list()}}
	case job == nil:
		panic("neither a job nor a problem") // told by broken
	}
	return &Result{Head: head, Job: job}
}

// job brings the object to normal form; nil if it is too far from one. It is a job only if nothing was told.
func (r *reader) job(head *schema.Head, raw map[string]any) *schema.Job {
	whole := objectOf(r.kind)
	for key, value := range raw {
		if whole.fields[key] == nil {
			r.member(whole, raw, key, value, reflect.Value{})
		}
	}

	r.at = append(r.at, step{key: "spec", within: raw, shape: whole})
	defer r.leave()
	switch spec := raw["spec"].(type) {
	case map[string]any:
		return r.spec(whole.fields["spec"].shape, spec, head)
	case nil:
		r.problem(schema.MissingField, "", "be set", misspelt(raw, "spec"))
	default:
		r.mismatch(object, spec)
	}
	return nil
}

func (r *reader) spec(s *shape, raw map[string]any, head *schema.Head) *schema.Job {
	before := r.problems.count
	options := r.kind.Options()
	for key, value := range raw {
		if key != "runPolicy" && key != r.kind.RolesField {
			r.member(s, raw, key, value, reflect.Indirect(reflect.ValueOf(options)))
		}
	}
	sound := r.problems.count == before

	r.at = append(r.at, step{key: "runPolicy", within: raw, shape: s})
	job := &schema.Job{Head: head, Policy: r.policy(raw["runPolicy"])}
	r.leave()
	r.at = append(r.at, step{key: r.kind.RolesField, within: raw, shape: s})
	roles, known := r.roles(raw[r.kind.RolesField])
	r.leave()
	r.name(head.Meta.Name, roles)
	problems, warnings := r.kind.Check(options, func(role string) bool {
		return slices.ContainsFunc(roles, func(d draft) bool { return d.Name == role })
	})
	r.problems.take(problems)
	r.warnings.take(warnings)
	if !sound || !known || head.Meta.Name == "" {
		return nil
	}
	job.Roles = make([]schema.Role, len(roles))
	e, _ := encoders.Get().(*encoder)
	defer e.giveBack()
	for i := range roles {
		if r.problems.count == 0 {
			roles[i].Template = roles[i].template(e, r.kind)
		}
		job.Roles[i] = roles[i].Role
	}
	if r.problems.count == 0 {
		job.Verbatim = verbatim(e, raw, r.kind.Verbatim)
	}
	// The kind tells of the job as a whole, so it is asked only if that is what its author wrote.
	r.problems.take(r.kind.Lower(job, options))
	return job
}

// verbatim is what stands at a path, as its author wrote it; nil if there is no path, or nothing there.
func verbatim(e *encoder, raw map[string]any, path []string) []byte {
	var value any
	for _, key := range path {
		value = raw[key]
		raw, _ = value.(map[string]any)
	}
	if value == nil {
		return nil
	}
	return bytes.Clone(e.encode(value))
}

// broken is the answer if the converter itself fails: a defect of ours, told to the object's author because
// nobody else is looking.
func broken(kind *schema.Kind, raw map[string]any, cause any) *Result {
	head := &schema.Head{Kind: kind}
	func() {
		defer func() { _ = recover() }()
		head = newReader(kind).head(raw)
	}()
	return &Result{Head: head, Rejection: &schema.Rejection{Head: head, Problems: []schema.Problem{{
		Code: schema.InvalidValue, Path: "spec", Found: "an object on which the operator fails with " + schema.Quote(fmt.Sprint(cause)),
		Hint: "this is a bug in the operator, not in the object; please report it"}}}}
}
