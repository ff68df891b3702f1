package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
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
		if o.now[uid] = v; v.Type == watch.Deleted {
			delete(o.now, uid)
		}
	}
	return found
}

// has reports whether an owner has, or had until a time, an object of a kind.
func (o *objects) has(owner types.UID, kind string, until time.Time) bool {
	is := func(v history.Version) bool { return v.Object.GetKind() == kind && history.Owner(v.Object) == owner }
	for _, v := range o.now {
		if is(v) {
			return true
		}
	}
	return slices.ContainsFunc(o.gone, func(v history.Version) bool { return is(v) && v.At.After(until) })
}

// subject returns the subject with that UID, or nil.
func (o *objects) subject(c *oracle.Case, uid types.UID) *unstructured.Unstructured {
	if v, known := o.now[uid]; known && c.Is(v) {
		return v.Object
	}
	return nil
}

// born reports whether this is the first version of an object.
func (o *objects) born(v history.Version) bool {
	_, known := o.now[v.Object.GetUID()]
	return !known && v.Type != watch.Deleted
}

// gatesFirst: a pod of an MPIJob of v1 is created only if the job has its own ConfigMap and service account, and the launcher
// only if it has its own Role and RoleBinding, too: otherwise a foreign object of that name would be used. A service account that
// the spec names is the user's.
func gatesFirst(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		if v.Resource != core("pods") || !before.born(v) || c.Objects[owner] == nil {
			return ""
		}
		kinds := []string{"ConfigMap"}
		if job := before.subject(c, owner); job != nil && accountOf(job) == "" {
			kinds = append(kinds, "ServiceAccount")
		}
		if isLauncher(c.Subject.Name, v.Object) {
			kinds = append(kinds, "Role", "RoleBinding")
		}
		for _, kind := range kinds {
			if !before.has(owner, kind, v.At.Add(-c.Limits.Notice)) {
				return fmt.Sprintf("pod %s is made before the %s of its job", v.Object.GetName(), kind)
			}
		}
		return ""
	})
}

// letInFirst: the launcher of an MPIJob of v1 that has workers is created only if its Role lets it into at least one, or did
// until a short time ago.
func letInFirst(c *oracle.Case) []string {
	roles := map[types.UID][]history.Version{} // by owner
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		if v.Resource == rbac("roles") {
			roles[owner] = append(roles[owner], v)
		}
		job := before.subject(c, owner)
		if v.Resource != core("pods") || !before.born(v) || job == nil || !isLauncher(c.Subject.Name, v.Object) {
			return ""
		}
		if workers, _, _ := unstructured.NestedInt64(job.Object, "spec", "mpiReplicaSpecs", "Worker", "replicas"); workers == 0 {
			return ""
		}
		all := roles[owner]
		for i := range all {
			replaced := i+1 < len(all) && all[i+1].At.Before(v.At.Add(-c.Limits.Notice))
			if !replaced && all[i].Type != watch.Deleted && letsIn(all[i].Object) {
				return ""
			}
		}
		return "the launcher is made, and its Role lets it in nowhere"
	})
}

func letsIn(role *unstructured.Unstructured) bool {
	rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
	return slices.ContainsFunc(rules, func(r any) bool {
		rule, _ := r.(map[string]any)
		resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
		names, _, _ := unstructured.NestedStringSlice(rule, "resourceNames")
		return slices.Contains(resources, "pods/exec") && len(names) > 0
	})
}

// accountOf returns the service account that the spec names for the launcher, or "".
func accountOf(job *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(job.Object, "spec", "mpiReplicaSpecs", "Launcher", "template", "spec", "serviceAccountName")
	return name
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
			if !before.begun(owner, name, v.At.Add(-c.Limits.Notice)) {
				return fmt.Sprintf("the launcher begins before worker %s", name)
			}
		}
		return ""
	})
}

// starts reports whether a launcher that must wait for the workers begins with this version.
func (o *objects) starts(v history.Version, job *unstructured.Unstructured) bool {
	policy, _, _ := unstructured.NestedString(job.Object, "spec", "launcherCreationPolicy")
	switch v.Resource {
	case core("pods"):
		return o.born(v) && isLauncher(job.GetName(), v.Object)
	case batchJobs():
		was, known := o.now[v.Object.GetUID()]
		return policy == "WaitForWorkersReady" && v.Type != watch.Deleted && !batchSuspended(v.Object) && (!known || batchSuspended(was.Object))
	}
	return false
}

// begun reports whether the pod of that name has run, or had until a time.
func (o *objects) begun(owner types.UID, name string, until time.Time) bool {
	is := func(v history.Version) bool {
		return v.Resource == core("pods") && v.Object.GetName() == name && history.Owner(v.Object) == owner && o.ran[v.Object.GetUID()]
	}
	for _, v := range o.now {
		if is(v) {
			return true
		}
	}
	return slices.ContainsFunc(o.gone, func(v history.Version) bool { return is(v) && v.At.After(until) })
}

// execOnlyWorkers: a Role that the operator writes allows exec into workers of the job only.
func execOnlyWorkers(c *oracle.Case) (found []string) {
	worker := regexp.MustCompile("^" + regexp.QuoteMeta(c.Subject.Name) + `-worker-\d+$`) // a quoted name always compiles
	for _, e := range c.Journal {
		if e.Resource != "roles" || e.Verb != "create" && e.Verb != "patch" {
			continue
		}
		var role struct {
			Rules []struct {
				Resources     []string `json:"resources"`
				ResourceNames []string `json:"resourceNames"`
			} `json:"rules"`
		}
		if err := json.Unmarshal(e.Request.Body, &role); err != nil {
			found = append(found, fmt.Sprintf("write %d of a Role cannot be read", e.Number))
		}
		for _, rule := range role.Rules {
			foreign := slices.ContainsFunc(rule.ResourceNames, func(name string) bool { return !worker.MatchString(name) })
			if slices.Contains(rule.Resources, "pods/exec") && (len(rule.ResourceNames) == 0 || foreign) {
				found = append(found, fmt.Sprintf("write %d lets the launcher exec into the pods %v (none: all)", e.Number, rule.ResourceNames))
			}
		}
	}
	return found
}

// oneKey: all pods of a job that have not ended have the same key. The Secret of a job is created once and never changes; another
// one replaces it only when no running pod has the first.
func oneKey(c *oracle.Case) []string {
	keys := map[types.UID]string{} // by job: the key that its pods have
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		if v.Resource != core("secrets") || v.Type == watch.Deleted || c.Objects[owner] == nil {
			return ""
		}
		key, _, _ := unstructured.NestedString(v.Object.Object, "data", privateKey)
		was, known := keys[owner]
		keys[owner] = key
		if !known || was == key {
			return ""
		}
		for _, pod := range before.now {
			if pod.Resource == core("pods") && c.Controller(pod.Object, v.At) == owner && !ended(pod.Object) {
				return fmt.Sprintf("Secret %s has another key than pod %s", v.Object.GetName(), pod.Object.GetName())
			}
		}
		return ""
	})
}

const privateKey = "ssh-privatekey"

// keyFirst: a worker, and the launcher's batch/v1 Job, are created only if the Secret and the Service of the job exist: the
// operator does not observe them later, so what does not exist by then never will.
func keyFirst(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		owner := history.Owner(v.Object)
		if v.Resource != core("pods") && v.Resource != batchJobs() || !before.born(v) || c.Objects[owner] == nil {
			return ""
		}
		for _, kind := range []string{"Secret", "Service"} {
			if !before.has(owner, kind, v.At.Add(-c.Limits.Notice)) {
				return fmt.Sprintf("%s %s is made before the %s of its job", v.Object.GetKind(), v.Object.GetName(), kind)
			}
		}
		return ""
	})
}

// secretsUnread: Secrets are neither listed nor watched, and only the creation of a Secret sends a key.
func secretsUnread(c *oracle.Case) (found []string) {
	for _, e := range slices.Concat(c.Lists, c.Journal) {
		if e.Resource == "secrets" && e.Verb != "create" && e.Verb != "get" {
			found = append(found, fmt.Sprintf("%s of Secrets", e.Verb))
		}
	}
	var keys []string
	for _, v := range c.Versions {
		if key, _, _ := unstructured.NestedString(v.Object.Object, "data", privateKey); v.Resource == core("secrets") && key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, e := range c.Journal {
		for _, key := range keys {
			if strings.Contains(string(e.Request.Body), key) && !(e.Resource == "secrets" && e.Verb == "create") {
				found = append(found, fmt.Sprintf("write %d, %s of %s %s, holds the key of the job", e.Number, e.Verb, e.Resource, e.Name))
			}
		}
	}
	return found
}

// launcherRestsFirst: the operator deletes a worker of a suspended job only if the launcher's batch/v1 Job is suspended: a
// running launcher would fail without the worker, and that failure counts.
func launcherRestsFirst(c *oracle.Case) []string {
	return walk(c, func(before *objects, v history.Version) string {
		owner, was := history.Owner(v.Object), before.now[v.Object.GetUID()]
		job := before.subject(c, owner)
		goes := v.Object.GetDeletionTimestamp() != nil || v.Type == watch.Deleted
		if v.Resource != core("pods") || job == nil || !goes || was.Object == nil || was.Object.GetDeletionTimestamp() != nil || !c.Deleted(v) {
			return ""
		}
		if suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend"); !suspended || settledJob(job) {
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
