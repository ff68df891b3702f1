package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/oracle"
)

// objects are what exists at one version of a run, and until when deleted objects existed.
type objects struct {
	now  map[types.UID]history.Version
	gone []history.Version // the last state of each, at the time of its deletion
	ran  map[types.UID]bool
}

// walk calls a rule at every version, with what existed before it.
func walk(c *oracle.Case, rule func(before *objects, v history.Version) string) (found []string) {
	o := &objects{now: map[types.UID]history.Version{}, ran: map[types.UID]bool{}}
	for _, v := range c.Versions {
		if text := rule(o, v); text != "" {
			found = append(found, text+", at resourceVersion "+v.Object.GetResourceVersion())
		}
		uid := v.Object.GetUID()
		if was, known := o.now[uid]; known && (v.Type == watch.Deleted || history.Owner(was.Object) != history.Owner(v.Object)) {
			was.At = v.At
			o.gone = append(o.gone, was)
		}
		o.ran[uid] = o.ran[uid] || v.Resource == core("pods") && history.Phase(v.Object) != "Pending" && history.Phase(v.Object) != ""
		o.now[uid] = v
		if v.Type == watch.Deleted {
			delete(o.now, uid)
		}
	}
	return found
}

// any reports whether an object exists, or existed until a time, of which a condition holds.
func (o *objects) any(until time.Time, holds func(history.Version) bool) bool {
	for _, v := range o.now {
		if holds(v) {
			return true
		}
	}
	return slices.ContainsFunc(o.gone, func(v history.Version) bool { return holds(v) && v.At.After(until) })
}

// subject returns the subject with that UID, or nil.
func (o *objects) subject(c *oracle.Case, uid types.UID) *unstructured.Unstructured {
	if v, known := o.now[uid]; known && c.Is(v) {
		return v.Object
	}
	return nil
}

// isNew reports whether this is the first version of an object.
func (o *objects) isNew(v history.Version) bool {
	_, known := o.now[v.Object.GetUID()]
	return !known && v.Type != watch.Deleted
}

// needs returns the rule that a pod, or the batch/v1 Job of a launcher, is created only if the job has an object of its own of each
// of these kinds.
func needs(kinds func(c *oracle.Case, job, made *unstructured.Unstructured) []string) func(*oracle.Case) []string {
	return func(c *oracle.Case) []string {
		return walk(c, func(before *objects, v history.Version) string {
			owner := history.Owner(v.Object)
			if v.Resource != core("pods") && v.Resource != batchJobs() || !before.isNew(v) || c.Objects[owner] == nil {
				return ""
			}
			for _, kind := range kinds(c, before.subject(c, owner), v.Object) {
				isOwn := func(v history.Version) bool { return v.Object.GetKind() == kind && history.Owner(v.Object) == owner }
				if !before.any(v.At.Add(-c.Limits.Notice), isOwn) {
					return fmt.Sprintf("%s %s is made before the %s of its job", v.Object.GetKind(), v.Object.GetName(), kind)
				}
			}
			return ""
		})
	}
}

// gatesV1 are what a pod of an MPIJob of v1 needs: otherwise a foreign object of that name would be used. A service account that the
// spec names is the user's.
func gatesV1(c *oracle.Case, job, made *unstructured.Unstructured) []string {
	if c.Subject.Resource.Resource != "mpijobs" {
		return nil
	}
	kinds := []string{"ConfigMap"}
	if job != nil {
		account, _, _ := unstructured.NestedString(job.Object, "spec", "mpiReplicaSpecs", "Launcher", "template", "spec", "serviceAccountName")
		if account == "" {
			kinds = append(kinds, "ServiceAccount")
		}
	}
	if isLauncher(c.Subject.Name, made) {
		kinds = append(kinds, "Role", "RoleBinding")
	}
	return kinds
}

// gatesV2Beta1 are what a worker and the launcher's Job of v2beta1 need: the operator does not observe them later, so what does not
// exist by then never will.
func gatesV2Beta1(*oracle.Case, *unstructured.Unstructured, *unstructured.Unstructured) []string {
	return []string{"Secret", "Service"}
}

// launcherLast: the launcher of an MPIJob of v1, and of v2beta1 with that policy, begins only if all workers have begun. The
// operator may not know yet that a worker was just replaced.
func launcherLast(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		job := before.subject(c, owner)
		if job == nil || !before.starts(v, job) {
			return ""
		}
		workers, _, _ := unstructured.NestedInt64(job.Object, "spec", "mpiReplicaSpecs", "Worker", "replicas")
		for i := range workers {
			name := job.GetName() + "-worker-" + strconv.FormatInt(i, 10)
			hasBegun := func(v history.Version) bool {
				return v.Resource == core("pods") && v.Object.GetName() == name && history.Owner(v.Object) == owner && before.ran[v.Object.GetUID()]
			}
			if !before.any(v.At.Add(-c.Limits.Notice), hasBegun) {
				return fmt.Sprintf("the launcher begins before worker %s", name)
			}
		}
		return ""
	})
}

// starts reports whether a launcher that must wait for the workers begins with this version.
func (o *objects) starts(v history.Version, job *unstructured.Unstructured) bool {
	switch v.Resource {
	case core("pods"):
		return o.isNew(v) && isLauncher(job.GetName(), v.Object)
	case batchJobs():
		policy, _, _ := unstructured.NestedString(job.Object, "spec", "launcherCreationPolicy")
		was, known := o.now[v.Object.GetUID()]
		return policy == "WaitForWorkersReady" && v.Type != watch.Deleted && !batchSuspended(v.Object) && (!known || batchSuspended(was.Object))
	}
	return false
}

// launcherRestsFirst: the operator deletes a worker of a suspended job only if the launcher's batch/v1 Job is suspended: a
// running launcher would fail without the worker, and that failure counts.
func launcherRestsFirst(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		was := before.now[v.Object.GetUID()].Object
		job := before.subject(c, owner)
		goes := v.Object.GetDeletionTimestamp() != nil || v.Type == watch.Deleted
		if v.Resource != core("pods") || job == nil || !goes || was == nil || was.GetDeletionTimestamp() != nil || !c.Deleted(v) {
			return ""
		}
		if suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend"); !suspended || isOver(job) {
			return ""
		}
		for _, other := range before.now {
			if other.Resource == batchJobs() && history.Owner(other.Object) == owner && !batchSuspended(other.Object) && !batchEnded(other.Object) {
				return fmt.Sprintf("worker %s is deleted while the launcher runs", v.Object.GetName())
			}
		}
		return ""
	})
}

// successorFirst: the operator deletes a ConfigMap of a FooBar that is not being deleted only if another one exists and the
// status names it. Where other clients write the status, an earlier status may have named it.
func successorFirst(c *oracle.Case) []string {
	recorded := map[string]bool{} // all ConfigMaps that the status ever named
	return walk(c, func(before *objects, v history.Version) string {
		if c.Is(v) {
			recorded[onRecord(v.Object)] = true
		}
		foobar := before.subject(c, fooBarOwner(v.Object))
		if v.Resource != core("configmaps") || v.Type != watch.Deleted || foobar == nil || foobar.GetDeletionTimestamp() != nil || !c.Deleted(v) {
			return ""
		}
		for uid, other := range before.now {
			if uid != v.Object.GetUID() && other.Resource == core("configmaps") && (nameOf(other.Object) == onRecord(foobar) || c.Limits.Edited && recorded[nameOf(other.Object)]) {
				return ""
			}
		}
		return fmt.Sprintf("ConfigMap %s is deleted while %s is on record", nameOf(v.Object), onRecord(foobar))
	})
}

// finalizerFirst: what garbage collection does not reach is created only for a FooBar that has the finalizer, and is deleted before it.
func finalizerFirst(c *oracle.Case) []string {
	isGuarded := func(v history.Version) bool {
		return v.Resource == core("configmaps") && v.Object.GetNamespace() != c.Subject.Namespace && fooBarOwner(v.Object) != ""
	}
	return walk(c, func(before *objects, v history.Version) string {
		switch {
		case isGuarded(v) && before.isNew(v):
			foobar := before.subject(c, fooBarOwner(v.Object))
			if foobar == nil || !slices.Contains(foobar.GetFinalizers(), "test.example.com/cleanup") {
				return fmt.Sprintf("ConfigMap %s is created for a FooBar without a finalizer", nameOf(v.Object))
			}
		case c.Is(v) && v.Type == watch.Deleted:
			for _, left := range before.now {
				if isGuarded(left) && fooBarOwner(left.Object) == v.Object.GetUID() {
					return fmt.Sprintf("the FooBar goes before its ConfigMap %s", nameOf(left.Object))
				}
			}
		}
		return ""
	})
}

// foreignUntouched: an object that another client has created is never written or deleted.
func foreignUntouched(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		known := before.now[v.Object.GetUID()].Object
		if v.Resource == core("configmaps") && known != nil && known.Object["data"] != nil && known.GetLabels()[operatorLabel] == "" && fooBarOwner(known) == "" {
			return fmt.Sprintf("%s of the ConfigMap %s, which is somebody else's", v.Type, nameOf(v.Object))
		}
		return ""
	})
}
