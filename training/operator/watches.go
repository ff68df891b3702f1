package operator

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/controller/watch"
	engine "stoic/convert"
	"stoic/internal/lean"
	"stoic/schema"
	"stoic/training"
	"stoic/training/convert"
	"stoic/training/plan"
)

// Name is the name of the operator: the source of its events and, with underscores, the prefix of its metrics.
const Name = "training-operator"

// Watches returns the Watch of each kind, for the engine. m counts what happens to their jobs.
func Watches(kinds []*training.Kind, m *Metrics) []watch.Watch {
	owned, priorities := owns(kinds), readPriorities()
	watches := make([]watch.Watch, len(kinds))
	for i, kind := range kinds {
		watches[i] = watch.Watch{
			Resource: kind.Resource(), Convert: func(u *unstructured.Unstructured) *engine.Result { return Convert(kind, u) }, Decide: plan.Decide,
			Name: kind.Controller, Noun: "job", FailedReason: kind.Reason(training.ReasonFailedValidation),
			Reasons: watch.Reasons{Deleted: training.ReasonDeletedJob, DeleteFailed: training.ReasonDeleteJobFailed},
			Owns:    []*watch.Owned{owned(schema.Pods(), false)},
			Count:   func(head *schema.Head, c schema.Count) { m.count(kind, head.Meta.Namespace, c) },
			Cached:  func(all iter.Seq[*engine.Result]) { m.census.serve(kind, all) },
		}
		for _, other := range kinds {
			if older := other.Resource(); other != kind && other.Plural == kind.Plural && kind.Version != "v1" {
				watches[i].Label, watches[i].Unless = kind.Name+"."+kind.Version, append(watches[i].Unless, older)
			}
		}
		if !slices.Contains(kind.Unwatched, schema.Services()) {
			watches[i].Owns = append(watches[i].Owns, owned(schema.Services(), false))
		}
		if kind.Cluster.Gang.On() {
			watches[i].Reads = []*watch.Read{priorities}
		}
		for _, r := range kind.DependentResources() {
			watches[i].Owns = append(watches[i].Owns, owned(r, slices.Contains(kind.Unwatched, r)))
		}
	}
	return watches
}

// Convert runs convert.Object and returns its result in the types of the engine.
func Convert(kind *training.Kind, u *unstructured.Unstructured) *engine.Result {
	found := convert.Object(kind, u)
	result := &engine.Result{Head: &found.Head.Head, Panic: found.Panic}
	result.Resource, result.Own, result.Status = kind.Resource(), found.Head, &found.Head.Status
	result.ObservedGeneration, result.Begun = found.Head.Status.ObservedGeneration, len(found.Head.Status.Conditions) > 0
	if found.Job != nil {
		result.Object = found.Job
	} else {
		result.Rejection = &schema.Rejection{Problems: found.Rejection.Problems}
	}
	return result
}

// owns returns a function that returns the Owned of a resource. The kinds share one Owned for each resource, and a
// separate one if the resource is not watched.
func owns(kinds []*training.Kind) func(r schema.Resource, unwatched bool) *watch.Owned {
	operators := make([]string, len(kinds))
	for i, kind := range kinds {
		operators[i] = kind.Controller
	}
	slices.Sort(operators)
	selector := training.LabelOperator + " in (" + strings.Join(operators, ",") + ")"
	type use struct {
		resource  schema.Resource
		unwatched bool
	}
	known := map[use]*watch.Owned{}
	return func(r schema.Resource, unwatched bool) *watch.Owned {
		of := use{r, unwatched}
		if known[of] == nil {
			known[of] = ownedOf(r, unwatched)
			if !known[of].Unwatched {
				known[of].Selector, known[of].Labels = selector, labels
			}
		}
		return known[of]
	}
}

// labels returns the labels that select the children of one job.
func labels(head *schema.Head) map[string]string {
	job, _ := head.Own.(*training.Head)
	if job == nil {
		return map[string]string{training.LabelJob: head.Meta.Name}
	}
	return map[string]string{training.LabelOperator: job.Kind.Controller, training.LabelJob: head.Meta.Name}
}

func ownedOf(r schema.Resource, unwatched bool) *watch.Owned {
	switch {
	case r == schema.Pods():
		return &watch.Owned{Resource: r, SlimTyped: slimPod, Names: []string{training.LabelReplicaType, training.LabelJobRole, training.AnnotationRestartCount},
			Through: []schema.Resource{schema.Jobs()},
			Same:    func(a, b any) bool { return samePod(a, b) },
			Reasons: watch.Reasons{Created: training.ReasonCreatedPod, CreateFailed: training.ReasonCreatePodFailed,
				Deleted: training.ReasonDeletedPod, DeleteFailed: training.ReasonDeletePodFailed}}
	case r == schema.Services() && !unwatched:
		return &watch.Owned{Resource: r, SlimTyped: slimService, Same: func(a, b any) bool { return reflect.DeepEqual(a, b) },
			Reasons: watch.Reasons{Created: training.ReasonCreatedService, CreateFailed: training.ReasonCreateServiceFailed,
				Deleted: training.ReasonDeletedService, DeleteFailed: training.ReasonDeleteServiceFailed}}
	}
	reasons := training.DependentReasonsOf(r)
	if r == schema.Jobs() {
		return &watch.Owned{Resource: r, Slim: func(u *unstructured.Unstructured) any { return training.BatchStateOf(u.Object) }, Relabel: true,
			Reasons: reasonsOf(reasons)}
	}
	// Relabel: training-operator and mpi-operator created such objects without these labels.
	form := training.FormOf(r)
	return &watch.Owned{Resource: r, Slim: func(u *unstructured.Unstructured) any { return form.StateOf(u.Object) }, Optional: true, Relabel: true,
		Alternative: training.IsNative(r), Unwatched: unwatched, Generators: generators(r), Reasons: reasonsOf(reasons)}
}

func reasonsOf(r training.DependentReasons) watch.Reasons {
	return watch.Reasons{Created: r.Created, CreateFailed: r.CreateFailed, UpdateFailed: r.UpdateFailed, Deleted: r.Deleted, DeleteFailed: r.DeleteFailed}
}

// generators returns the generators of content that must not appear in a plan.
func generators(r schema.Resource) map[string]watch.Generator {
	if r == schema.Secrets() {
		return map[string]watch.Generator{training.GenerateSSHKey: sshKey}
	}
	return nil
}

func slimPod(p *lean.Object) any {
	rtype := p.Labels[training.LabelJobRole]
	s := &training.PodState{ReplicaType: cmp.Or(p.Labels[training.LabelReplicaType], rtype), Phase: p.Status.Phase, Problem: problemOf(p)}
	s.Ready = rtype == training.JobRoleWorker && condition(&p.Status, ready, isTrue) != nil
	s.Failure = failureOf(p)
	s.Disrupted = isDisrupted(&p.Status)
	row, _ := strconv.ParseInt(p.Annotations[training.AnnotationRestartCount], 10, 64) // no number: 0; one too large: the largest
	s.ConsecutiveFailures = training.Count(row)
	s.Wait = waitOf(p)
	for _, c := range p.Status.InitContainers {
		if !training.IsAddedContainer(c.Name) {
			s.Restarts += int64(max(c.RestartCount, 0))
		}
	}
	for _, c := range p.Status.Containers {
		s.Restarts += int64(max(c.RestartCount, 0))
		if t := c.State.Terminated; t != nil {
			s.Exits = append(s.Exits, training.Exit{Container: c.Name, Code: t.ExitCode})
		}
	}
	return s
}

// samePod reports whether two states are equal for plans. A different message of the same problem, such as how many nodes
// are full, makes no difference.
func samePod(a, b any) bool {
	was, ok1 := a.(*training.PodState)
	is, ok2 := b.(*training.PodState)
	return ok1 && ok2 && sameEnding(was.Wait, is.Wait) && reasonOf(was.Problem) == reasonOf(is.Problem) && was.ReplicaType == is.ReplicaType && was.Phase == is.Phase && was.Ready == is.Ready && was.Disrupted == is.Disrupted && sameFailure(was.Failure, is.Failure) && was.Restarts == is.Restarts && was.ConsecutiveFailures == is.ConsecutiveFailures && slices.Equal(was.Exits, is.Exits)
}

func reasonOf(p *training.PodProblem) string {
	if p == nil {
		return ""
	}
	return p.Reason
}
