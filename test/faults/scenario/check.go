package scenario

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/test/faults/history"
)

func always(history.View) (bool, string) { return true, "" }

// all returns the result of the first check that does not hold.
func all(checks ...Check) Check {
	return func(v history.View) (bool, string) {
		for _, check := range checks {
			if ok, saw := check(v); !ok {
				return false, saw
			}
		}
		return true, ""
	}
}

// either holds if one of two checks does; otherwise it reports what the second saw.
func either(a, b Check) Check {
	return func(v history.View) (bool, string) {
		if ok, _ := a(v); ok {
			return true, ""
		}
		return b(v)
	}
}

// hasServices reports whether each pod of the subject has a service of its name.
func hasServices(v history.View) bool { return v.Resource.Resource != "mpijobs" }

// runs: these pods run and have their services, whatever else exists. A job that ends while an operator is down, before the
// operator has created a service, rightly never gets one: that would differ from the reference.
func runs(names ...string) Check {
	return func(v history.View) (bool, string) {
		for _, name := range names {
			name = v.Name + "-" + name
			if !isRunning(v.Pod(name)) || hasServices(v) && v.Service(name) == nil {
				return false, fmt.Sprintf("pod %s does not run with its service; %s", name, describe(v))
			}
		}
		return true, ""
	}
}

// isNth: the pod of that name is the n-th.
func isNth(n int, name string) Check {
	return func(v history.View) (bool, string) {
		pod := v.Pod(v.Name + "-" + name)
		return pod != nil && v.Incarnations[pod.GetUID()] == n, fmt.Sprintf("want the pod %s for the time %d; %s", name, n, describe(v))
	}
}

func isRunning(pod *unstructured.Unstructured) bool {
	return history.Phase(pod) == "Running" && pod.GetDeletionTimestamp() == nil
}

func hasEnded(pod *unstructured.Unstructured) bool {
	phase := history.Phase(pod)
	return phase == "Succeeded" || phase == "Failed"
}

// pods: these pods exist, by name and phase ("worker-0 Running"), each with its service, and no others. The pod of a batch/v1 Job
// has the name of the Job.
func pods(wanted ...string) Check {
	return func(v history.View) (bool, string) {
		var found, services, wantedServices []string
		for _, u := range v.Pods {
			text := strings.TrimPrefix(strings.TrimSuffix(history.NameOf(u), "-"+history.Generated), v.Name+"-") + " " + history.Phase(u)
			if u.GetDeletionTimestamp() != nil {
				text += " deleting"
			}
			found = append(found, text)
		}
		slices.Sort(found)
		if hasServices(v) {
			for _, u := range v.Services {
				services = append(services, strings.TrimPrefix(u.GetName(), v.Name+"-"))
			}
			for _, w := range wanted {
				name, _, _ := strings.Cut(w, " ")
				wantedServices = append(wantedServices, name)
			}
		}
		return slices.Equal(found, wanted) && slices.Equal(services, wantedServices), fmt.Sprintf("want the pods %v; %s", wanted, describe(v))
	}
}

// dependents: an object of each of these kinds exists in addition to pods and services, and of no other kind.
func dependents(kinds ...string) Check {
	return func(v history.View) (bool, string) {
		var found []string
		for _, u := range v.Dependents {
			found = append(found, u.GetKind())
		}
		slices.Sort(found)
		return slices.Equal(found, kinds), fmt.Sprintf("want the objects %v; %s", kinds, describe(v))
	}
}

// owns: the existing job controls an object of each of these kinds, whatever else exists.
func owns(kinds ...string) Check {
	return func(v history.View) (bool, string) {
		for _, kind := range kinds {
			isOwn := func(u *unstructured.Unstructured) bool {
				return v.Job != nil && u.GetKind() == kind && history.Owner(u) == v.Job.GetUID()
			}
			if !slices.ContainsFunc(v.Children(), isOwn) {
				return false, fmt.Sprintf("want its own %s; %s", kind, describe(v))
			}
		}
		return true, ""
	}
}

// state: the status is of the current spec, and its last condition that is True has that type.
func state(condition string) Check {
	return func(v history.View) (bool, string) {
		return history.State(v.Job).Type == condition && isObserved(v.Job), fmt.Sprintf("want the state %s; %s", condition, describe(v))
	}
}

// has: the status is of the current spec, and has that condition, whatever else it has.
func has(condition string) Check {
	return func(v history.View) (bool, string) {
		return history.Is(v.Job, condition) && isObserved(v.Job), fmt.Sprintf("want the condition %s; %s", condition, describe(v))
	}
}

// isRejected: the object is Stalled, and a warning event about the field exists. A user who repairs a spec has read the errors in
// it: an operator that dies before it reports an error need not report it after the repair.
func isRejected(path string) Check {
	return all(has("Stalled"), warning("about "+path, func(event *unstructured.Unstructured) bool {
		about, _, _ := unstructured.NestedString(event.Object, "involvedObject", "fieldPath")
		return about == path
	}))
}

// warning checks for an event of type Warning that is the one looked for; what describes it.
func warning(what string, isIt func(event *unstructured.Unstructured) bool) Check {
	return func(v history.View) (bool, string) {
		found := slices.ContainsFunc(v.Events, func(u *unstructured.Unstructured) bool { return u.Object["type"] == "Warning" && isIt(u) })
		return found, fmt.Sprintf("%d events, none is a warning %s; %s", len(v.Events), what, describe(v))
	}
}

func isObserved(job *unstructured.Unstructured) bool {
	if job == nil {
		return false
	}
	generation, _, _ := unstructured.NestedInt64(job.Object, "status", "observedGeneration")
	return generation == job.GetGeneration()
}

// active: the status counts so many active workers.
func active(want int64) Check {
	return func(v history.View) (bool, string) {
		var count int64
		if v.Job != nil {
			count, _, _ = unstructured.NestedInt64(v.Job.Object, "status", "replicaStatuses", "Worker", "active")
		}
		return count == want, fmt.Sprintf("want %d active, the status says %d; %s", want, count, describe(v))
	}
}

// isGone: the job does not exist.
func isGone(v history.View) (bool, string) { return v.Job == nil, describe(v) }

// hasNothing: no object exists, except events.
func hasNothing(v history.View) (bool, string) {
	return v.Job == nil && len(v.Children()) == 0, describe(v)
}

// describe describes what exists, in a line.
func describe(v history.View) string {
	var parts []string
	switch {
	case v.Job == nil:
		parts = append(parts, "no job")
	case v.Job.GetDeletionTimestamp() != nil:
		parts = append(parts, "the job is being deleted")
	}
	for _, c := range history.Conditions(v.Job) {
		parts = append(parts, c.Type+"="+c.Status+"("+c.Reason+")")
	}
	for _, u := range v.Children() {
		text := u.GetKind() + " " + u.GetName() + " " + history.Phase(u)
		if u.GetDeletionTimestamp() != nil {
			text += " deleting"
		}
		parts = append(parts, strings.TrimSpace(text))
	}
	return strings.Join(parts, ", ")
}
