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

// run: these pods run and have their services, whatever else exists. A job that ends while an operator is down, before the
// operator has created a service, rightly never gets one: that would differ from the reference.
func run(names ...string) Check {
	return func(v history.View) (bool, string) {
		for _, name := range names {
			name = v.Name + "-" + name
			if !runs(v.Pod(name)) || v.Service(name) == nil {
				return false, fmt.Sprintf("pod %s does not run with its service; %s", name, describe(v))
			}
		}
		return true, ""
	}
}

func runs(pod *unstructured.Unstructured) bool {
	return history.Phase(pod) == "Running" && pod.GetDeletionTimestamp() == nil
}

func ended(pod *unstructured.Unstructured) bool {
	phase := history.Phase(pod)
	return phase == "Succeeded" || phase == "Failed"
}

// children: these pods exist, by name and phase ("worker-0 Running"), each with its service, and no others.
func children(wanted ...string) Check {
	return func(v history.View) (bool, string) {
		var pods, services, wantedServices []string
		for _, u := range v.Pods {
			text := strings.TrimPrefix(u.GetName(), v.Name+"-") + " " + history.Phase(u)
			if u.GetDeletionTimestamp() != nil {
				text += " deleting"
			}
			pods = append(pods, text)
		}
		for _, u := range v.Services {
			services = append(services, strings.TrimPrefix(u.GetName(), v.Name+"-"))
		}
		for _, w := range wanted {
			name, _, _ := strings.Cut(w, " ")
			wantedServices = append(wantedServices, name)
		}
		if !slices.Equal(pods, wanted) || !slices.Equal(services, wantedServices) {
			return false, fmt.Sprintf("want the pods %v; %s", wanted, describe(v))
		}
		return true, ""
	}
}

// dependents: an object of each of these kinds exists beside pods and services, and of no other kind.
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

// state: the status is of the current spec, and its last condition that is True has that type.
func state(condition string) Check {
	return func(v history.View) (bool, string) {
		return history.State(v.Job).Type == condition && observed(v.Job), fmt.Sprintf("want the state %s; %s", condition, describe(v))
	}
}

// was: the status is of the current spec, and has that condition, whatever else it has.
func was(condition string) Check {
	return func(v history.View) (bool, string) {
		return history.Is(v.Job, condition) && observed(v.Job), fmt.Sprintf("want the condition %s; %s", condition, describe(v))
	}
}

// reported: a warning event about the field exists.
func reported(path string) Check {
	return warning("about "+path, func(_ history.View, event *unstructured.Unstructured) bool {
		about, _, _ := unstructured.NestedString(event.Object, "involvedObject", "fieldPath")
		return about == path
	})
}

// warning checks for an event of type Warning that is the one looked for; what describes it.
func warning(what string, is func(v history.View, event *unstructured.Unstructured) bool) Check {
	return func(v history.View) (bool, string) {
		return slices.ContainsFunc(v.Events, func(u *unstructured.Unstructured) bool { return u.Object["type"] == "Warning" && is(v, u) }),
			fmt.Sprintf("%d events, none is a warning %s; %s", len(v.Events), what, describe(v))
	}
}

func observed(job *unstructured.Unstructured) bool {
	if job == nil {
		return false
	}
	generation, _, _ := unstructured.NestedInt64(job.Object, "status", "observedGeneration")
	return generation == job.GetGeneration()
}

// active: the status counts so many active replicas of a replica type.
func active(rtype string, want int64) Check {
	return func(v history.View) (bool, string) {
		var count int64
		if v.Job != nil {
			count, _, _ = unstructured.NestedInt64(v.Job.Object, "status", "replicaStatuses", rtype, "active")
		}
		return count == want, fmt.Sprintf("want %d active, the status says %d; %s", want, count, describe(v))
	}
}

// gone: the job does not exist.
func gone(v history.View) (bool, string) { return v.Job == nil, describe(v) }

// nothing: no object exists, except events.
func nothing(v history.View) (bool, string) { return all(gone, children(), dependents())(v) }

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

// served: the existing job has its own service for a replica.
func served(name string) Check {
	return func(v history.View) (bool, string) {
		ok := v.Job != nil && slices.ContainsFunc(v.Services, func(s *unstructured.Unstructured) bool {
			return s.GetName() == v.Name+"-"+name && history.Owner(s) == v.Job.GetUID()
		})
		return ok, "its service; " + describe(v)
	}
}
