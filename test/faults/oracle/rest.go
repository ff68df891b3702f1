package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"stoic/test/faults/history"
)

// AtRest judges what exists of a training job when nothing changes any longer, where there is no run to compare with. It does not
// know what an MPIJob has beside its pods.
//
//	the job         its dependents                                 its status
//	is deleted      none that name it as their owner               -
//	is malformed    as they were                                   Stalled, and an event with the path
//	is over         as cleanPodPolicy says                         a terminal condition that a pod, or a limit, justifies
//	is suspended    none                                           Suspended, not Running
//	else            one pod and one service for each replica       not Suspended; Running if its pods run; the counts
func AtRest(run *history.Run, limits Limits) []Violation {
	r := &rest{Case: newCase(Jobs(), run, nil, limits), view: run.View(), pods: map[string]*unstructured.Unstructured{}, services: map[string]bool{}}
	r.judge()
	var found []Violation
	for _, text := range slices.Compact(slices.Sorted(slices.Values(r.found))) {
		found = append(found, Violation{"O1", text})
	}
	return found
}

// rest is what exists at the end, with the dependents of the job by name.
type rest struct {
	*Case
	view     history.View
	pods     map[string]*unstructured.Unstructured
	services map[string]bool
	found    []string
}

func (r *rest) violated(format string, values ...any) {
	r.found = append(r.found, "at rest: "+fmt.Sprintf(format, values...))
}

func (r *rest) judge() {
	job := r.view.Job
	for _, u := range r.view.Children() {
		owner := history.Owner(u)
		switch {
		case owner == "":
		case job == nil || owner != job.GetUID():
			r.violated("%s %s belongs to a job that is gone", u.GetKind(), u.GetName())
		case u.GetKind() == "Pod":
			r.pods[u.GetName()] = u
		case u.GetKind() == "Service":
			r.services[u.GetName()] = true
		}
	}
	switch {
	case job == nil:
	case job.GetDeletionTimestamp() != nil:
		r.violated("the job is still being deleted")
	case r.malformed(job) != "":
		r.judgeMalformed(job, r.malformed(job))
	case terminal(job) != "":
		r.judgeOver(job)
	case isSuspended(job):
		if len(r.pods)+len(r.services) > 0 {
			r.violated("the job is suspended and has %d pods and %d services", len(r.pods), len(r.services))
		}
		if !history.Is(job, "Suspended") || history.Is(job, "Running") {
			r.violated("the job is suspended and its status says otherwise")
		}
	default:
		r.judgeRunning(job)
	}
}

func (c *Case) malformed(job *unstructured.Unstructured) string {
	if c.Limits.Malformed == nil {
		return ""
	}
	return c.Limits.Malformed(job)
}

func (r *rest) judgeMalformed(job *unstructured.Unstructured, path string) {
	if !history.Is(job, "Stalled") {
		r.violated("the spec is wrong at %s and the job is not Stalled", path)
	}
	if !r.hasEvent(func(e map[string]any) bool {
		at, _, _ := unstructured.NestedString(e, "involvedObject", "fieldPath")
		return at == path && e["type"] == "Warning"
	}) {
		r.violated("no event tells that the spec is wrong at %s", path)
	}
}

// hasEvent reports whether the job ever had such an event.
func (r *rest) hasEvent(is func(map[string]any) bool) bool {
	return slices.ContainsFunc(r.Versions, func(v history.Version) bool {
		uid, _, _ := unstructured.NestedString(v.Object.Object, "involvedObject", "uid")
		return v.Resource.Resource == "events" && uid == string(r.view.Job.GetUID()) && is(v.Object.Object)
	})
}

func hasEnded(pod *unstructured.Unstructured) bool {
	return history.Phase(pod) == "Succeeded" || history.Phase(pod) == "Failed"
}

func (r *rest) judgeOver(job *unstructured.Unstructured) {
	clean, _, _ := unstructured.NestedString(job.Object, "spec", "runPolicy", "cleanPodPolicy")
	for name, pod := range r.pods {
		if clean == "All" || clean == "Running" && !hasEnded(pod) {
			r.violated("the job is over, cleanPodPolicy is %s, and pod %s exists (%s)", clean, name, history.Phase(pod))
		}
	}
	for name := range r.services {
		if clean == "All" || clean == "Running" && r.pods[name] == nil {
			r.violated("the job is over, cleanPodPolicy is %s, and service %s exists", clean, name)
		}
	}
	if at, _, _ := unstructured.NestedString(job.Object, "status", "completionTime"); at == "" {
		r.violated("the job is over and has no completionTime")
	}
	if history.Is(job, "Running") || history.Is(job, "Restarting") {
		r.violated("the job is over and says that it is Running or Restarting")
	}
	if hasLimit(job, "ttlSecondsAfterFinished") && !isSuspended(job) {
		r.violated("the job is over and its time to live has passed")
	}
	for name, n := range statusCounts(job) {
		if n.Active != 0 {
			r.violated("the job is over and %d replicas of %s are active", n.Active, name)
		}
	}
	kind := kindOf(terminal(job))
	// A terminal condition of which no trace is left is restored as Failed.
	isExcused := kind == "Failed" && (hasLimit(job, "activeDeadlineSeconds") || hasLimit(job, "backoffLimit") || r.Limits.Edited)
	if !isExcused && !r.everWas(job.GetUID(), "", kind) {
		r.violated("the job is said to have %s, and no pod ever has", kind)
	}
}

func hasLimit(job *unstructured.Unstructured, field string) bool {
	_, is, _ := unstructured.NestedInt64(job.Object, "spec", "runPolicy", field)
	return is
}

// everWas reports whether a pod of the job was ever in a phase; the name "" means any pod.
func (r *rest) everWas(job types.UID, name, phase string) bool {
	return slices.ContainsFunc(r.Versions, func(v history.Version) bool {
		return v.Resource.Resource == "pods" && history.Owner(v.Object) == job && history.Phase(v.Object) == phase && (name == "" || v.Object.GetName() == name)
	})
}

func (r *rest) judgeRunning(job *unstructured.Unstructured) {
	start, _, _ := unstructured.NestedString(job.Object, "status", "startTime")
	if hasLimit(job, "activeDeadlineSeconds") && !strings.HasPrefix(start, "2099") { // a user may postpone it
		r.violated("the deadline has passed and the job is not over")
	}
	wanted := map[string]bool{}
	for _, t := range replicaTypes(job) {
		for i := range t.replicas {
			name := t.podName(job, i)
			wanted[name] = true
			r.judgeReplica(job, t, i, name)
		}
	}
	for name := range r.pods {
		if !wanted[name] {
			r.violated("pod %s is one that the job does not ask for", name)
		}
	}
	for name := range r.services {
		if !wanted[name] {
			r.violated("service %s is one that the job does not ask for", name)
		}
	}
	if history.Is(job, "Suspended") || history.Is(job, "Stalled") {
		r.violated("the job goes on and its status says otherwise")
	}
	r.judgeCounts(job)
}

func (r *rest) judgeReplica(job *unstructured.Unstructured, t replicaType, index int, name string) {
	pod := r.pods[name]
	switch {
	case pod == nil && (r.isTaken(r.view.Pod(name)) || r.hasSucceeded(job, t, index)):
	case pod == nil:
		r.violated("pod %s is missing", name)
	case history.Phase(pod) == "Failed":
		r.violated("pod %s has failed, and the job neither has nor goes on", name)
	}
	if !r.services[name] && !r.isTaken(r.view.Service(name)) {
		r.violated("service %s is missing", name)
	}
}

// isTaken reports whether an object exists that is not the job's, and an event reports it.
func (r *rest) isTaken(u *unstructured.Unstructured) bool {
	return u != nil && r.hasEvent(func(e map[string]any) bool { return e["reason"] == "NameConflict" })
}

// hasSucceeded reports whether the ledger names a replica as succeeded. What it names must have happened.
func (r *rest) hasSucceeded(job *unstructured.Unstructured, t replicaType, index int) bool {
	var ledger struct {
		Job       types.UID         `json:"job"`
		Succeeded map[string]string `json:"succeeded"`
	}
	err := json.Unmarshal([]byte(job.GetAnnotations()[history.LedgerAnnotation]), &ledger)
	if err != nil || ledger.Job != job.GetUID() || !inRanges(ledger.Succeeded[strings.ToLower(t.name)], index) {
		return false
	}
	if name := t.podName(job, index); !r.everWas(job.GetUID(), name, "Succeeded") {
		r.violated("the ledger says that %s has succeeded, and it never did", name)
	}
	return true
}

// inRanges reports whether a text such as "0,2-4" contains a number.
func inRanges(text string, index int) bool {
	for one := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(one, "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err == nil && from <= index && index <= to {
			return true
		}
	}
	return false
}

func (r *rest) judgeCounts(job *unstructured.Unstructured) {
	types := replicaTypes(job)
	decides := types[0].name
	if decides == "PS" {
		decides = "Worker"
	}
	for _, t := range types {
		var running, succeeded int32
		for i := range t.replicas {
			pod := r.pods[t.podName(job, i)]
			switch {
			case pod == nil && r.hasSucceeded(job, t, i), history.Phase(pod) == "Succeeded":
				succeeded++
			case history.Phase(pod) == "Running":
				running++
			}
		}
		if got := statusCounts(job)[t.name]; got != (replicaCounts{Active: running, Succeeded: succeeded}) {
			r.violated("the status counts %v of %s, and %d are active, %d have succeeded", got, t.name, running, succeeded)
		}
		if t.name != decides {
			continue
		}
		if r.isSuccess(job, t, int(succeeded)) {
			r.violated("%s has succeeded and the job has no terminal condition", t.name)
		}
		if running > 0 && (!history.Is(job, "Running") || history.Is(job, "Restarting")) {
			r.violated("%s runs and the job is not Running", t.name)
		}
	}
}

// isSuccess reports whether the replicas that decide have succeeded: all of them; any one of an elastic job; or the first worker of
// a TFJob without a chief, unless its policy names all.
func (r *rest) isSuccess(job *unstructured.Unstructured, t replicaType, succeeded int) bool {
	policy, _, _ := unstructured.NestedString(job.Object, "spec", "successPolicy")
	_, isElastic, _ := unstructured.NestedMap(job.Object, "spec", "elasticPolicy")
	switch {
	case t.name == "Worker" && isElastic:
		return succeeded > 0
	case t.name == "Worker" && job.GetKind() == "TFJob" && policy != "AllWorkers" && history.Phase(r.pods[t.podName(job, 0)]) == "Succeeded":
		return true
	}
	return t.replicas > 0 && succeeded == t.replicas
}

type replicaCounts struct{ Active, Succeeded, Failed int32 }

func statusCounts(job *unstructured.Unstructured) map[string]replicaCounts {
	counts := map[string]replicaCounts{}
	found, _, _ := unstructured.NestedMap(job.Object, "status", "replicaStatuses")
	if text, err := json.Marshal(found); err == nil {
		_ = json.Unmarshal(text, &counts) // whatever can be read of it
	}
	return counts
}

// replicaType is one replica type of a spec.
type replicaType struct {
	name     string
	replicas int
}

// replicaTypes returns those of a job, the one that decides about its success before Worker.
func replicaTypes(job *unstructured.Unstructured) (found []replicaType) {
	spec, _, _ := unstructured.NestedMap(job.Object, "spec")
	for field, value := range spec {
		specs, is := value.(map[string]any)
		if !is || !strings.HasSuffix(field, "ReplicaSpecs") {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(specs)) {
			n, _, err := unstructured.NestedInt64(specs, name, "replicas")
			if err == nil {
				found = append(found, replicaType{name, int(n)})
			}
		}
	}
	return found
}

// podName returns the name of a replica, and of its service.
func (t replicaType) podName(job *unstructured.Unstructured, index int) string {
	return fmt.Sprintf("%s-%s-%d", job.GetName(), strings.ToLower(t.name), index)
}
