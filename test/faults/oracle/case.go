package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// jobs is the group of the resources of all jobs.
const jobs = "kubeflow.org"

// aCase is what there is to judge from.
type aCase struct {
	versions       []history.Version // in the order of their resourceVersions
	journal, lists []proxy.Entry
	limits         Limits
	jobs           map[types.UID][]history.Version // of each job of the name, in that order
}

func newCase(life *history.Life, journal, lists []proxy.Entry, limits Limits) *aCase {
	if limits.Notice == 0 {
		limits.Notice = time.Second
	}
	c := &aCase{versions: life.Versions(), journal: journal, lists: lists, limits: limits, jobs: map[types.UID][]history.Version{}}
	for _, v := range c.versions {
		if v.Resource.Group == jobs {
			c.jobs[v.Object.GetUID()] = append(c.jobs[v.Object.GetUID()], v)
		}
	}
	return c
}

// onePod: at any time at most one pod that has not ended, terminating or not, for each replica of a job.
func (c *aCase) onePod() (found []string) {
	live := map[string]map[types.UID]string{} // by replica, then by pod: its name
	replica := map[types.UID]string{}         // as its first version says: labels may be edited
	for _, v := range c.versions {
		if v.Resource.Resource != "pods" {
			continue
		}
		uid := v.Object.GetUID()
		if _, known := replica[uid]; !known {
			replica[uid] = replicaOf(v.Object)
		}
		of := replica[uid]
		if of == "" {
			continue
		}
		phase := history.Phase(v.Object)
		if v.Type == watch.Deleted || phase == "Succeeded" || phase == "Failed" {
			delete(live[of], uid)
			continue
		}
		if live[of] == nil {
			live[of] = map[types.UID]string{}
		}
		_, was := live[of][uid]
		live[of][uid] = v.Object.GetName()
		if !was && len(live[of]) > 1 {
			found = append(found, fmt.Sprintf("%d pods that have not ended for one replica (%s) at resourceVersion %s", len(live[of]), of, v.Object.GetResourceVersion()))
		}
	}
	return found
}

// replicaOf a pod: the job that controls it, its role and its index; "" if it is no job's.
func replicaOf(pod *unstructured.Unstructured) string {
	owner := history.Owner(pod)
	labels := pod.GetLabels()
	role, index := labels["training.kubeflow.org/replica-type"], labels["training.kubeflow.org/replica-index"]
	if owner == "" || index == "" {
		return ""
	}
	return fmt.Sprintf("job %s, %s %s", owner, role, index)
}

// conditional: nothing is deleted but what was seen: every DELETE names a UID.
func (c *aCase) conditional() (found []string) {
	for _, e := range c.journal {
		if e.Verb == "deletecollection" || e.Verb == "delete" && condition(e) == "" {
			found = append(found, fmt.Sprintf("%s %s %s without a UID as precondition", e.Verb, e.Resource, e.Name))
		}
	}
	return found
}

// condition is the UID that a request names.
func condition(e proxy.Entry) types.UID {
	var body struct {
		Preconditions struct {
			UID types.UID `json:"uid"`
		} `json:"preconditions"`
		Metadata struct {
			UID types.UID `json:"uid"`
		} `json:"metadata"`
	}
	if json.Unmarshal(e.Request.Body, &body) != nil {
		return ""
	}
	if e.Verb == "delete" {
		return body.Preconditions.UID
	}
	return body.Metadata.UID
}

// ours: no object was changed or deleted that a job of the life did not control.
func (c *aCase) ours() (found []string) {
	for _, e := range c.journal {
		if !took(e) || e.Verb == "create" || e.Verb == "get" || e.Group == jobs || e.Resource == "events" {
			continue
		}
		object := c.before(e)
		if object == nil {
			continue // it was nothing that is in the history, which the counts tell of
		}
		if owner := history.Owner(object); c.jobs[owner] == nil {
			found = append(found, fmt.Sprintf("%s %s %s, which %s controls", e.Verb, e.Resource, e.Name, orNobody(owner)))
		}
	}
	return found
}

func orNobody(uid types.UID) string {
	if uid == "" {
		return "nobody"
	}
	return "somebody else (" + string(uid) + ")"
}

// took: the API server did what was asked.
func took(e proxy.Entry) bool { return e.Forwarded && e.Code >= 200 && e.Code < 300 }

// before is the object of a request as it was told last before the request. The UID says which, if the request does.
func (c *aCase) before(e proxy.Entry) *unstructured.Unstructured {
	uid := condition(e)
	var first, last *history.Version
	for i := range c.versions {
		v := &c.versions[i]
		if v.Resource.Resource != e.Resource || v.Resource.Group != e.Group || v.Object.GetName() != e.Name || uid != "" && v.Object.GetUID() != uid {
			continue
		}
		if first == nil {
			first = v
		}
		if !v.At.After(e.Began) {
			last = v
		}
	}
	switch {
	case last != nil:
		return last.Object
	case first != nil:
		return first.Object
	}
	return nil
}

// noneLate: nothing is made for a job of whose deletion the operator has had time to know.
func (c *aCase) noneLate() (found []string) {
	for _, l := range c.late() {
		if l.known > c.limits.Notice {
			found = append(found, fmt.Sprintf("%s %s was made for a job whose deletion was known for %v", l.Resource.Resource, l.Object.GetName(), l.known))
		}
	}
	return found
}

// late is the first version of an object that was made for a job after its deletion.
type late struct {
	history.Version
	known time.Duration // for how long the deletion had been told
}

// late lists them all. Nobody can help to make one in the moment of the deletion: what went with the job may be told
// before the job's own end. Garbage collection takes it away.
func (c *aCase) late() (found []late) {
	seen := map[types.UID]bool{}
	for _, v := range c.versions {
		uid, owner := v.Object.GetUID(), history.Owner(v.Object)
		if seen[uid] || v.Resource.Group == jobs || v.Resource.Resource == "events" {
			continue
		}
		seen[uid] = true
		i := slices.IndexFunc(c.jobs[owner], func(j history.Version) bool {
			return j.Object.GetDeletionTimestamp() != nil || j.Type == watch.Deleted
		})
		if i >= 0 && history.Revision(v.Object) >= history.Revision(c.jobs[owner][i].Object) {
			found = append(found, late{v, c.began(v).Sub(c.jobs[owner][i].At)})
		}
	}
	return found
}

// counts says, by resource and name, how often each object was made and deleted, those left out that were made late.
func (c *aCase) counts() (created, deleted map[string]map[string]int) {
	created, deleted = map[string]map[string]int{}, map[string]map[string]int{}
	born, gone := map[types.UID]bool{}, map[types.UID]bool{}
	for _, l := range c.late() {
		born[l.Object.GetUID()], gone[l.Object.GetUID()] = true, true
	}
	for _, v := range c.versions {
		if v.Resource.Resource == "events" {
			continue
		}
		if uid := v.Object.GetUID(); !born[uid] {
			born[uid] = true
			step(created, v)
		}
		if uid := v.Object.GetUID(); v.Type == watch.Deleted && !gone[uid] {
			gone[uid] = true
			step(deleted, v)
		}
	}
	return created, deleted
}

func step(counts map[string]map[string]int, v history.Version) {
	if counts[v.Resource.Resource] == nil {
		counts[v.Resource.Resource] = map[string]int{}
	}
	counts[v.Resource.Resource][v.Object.GetName()]++
}

// began is when the creation of an object was asked for; if nobody wrote that down, when it was told.
func (c *aCase) began(v history.Version) time.Time {
	for _, e := range c.journal {
		if e.Verb == "create" && e.Resource == v.Resource.Resource && e.Name == v.Object.GetName() && took(e) && strings.Contains(string(e.Body), string(v.Object.GetUID())) {
			return e.Began
		}
	}
	return v.At
}

// final: a verdict stands for ever, and so does its time.
func (c *aCase) final() (found []string) {
	for uid, versions := range c.jobs {
		was := ""
		for _, v := range versions {
			is := verdict(v.Object)
			if was != "" && is != was && !(c.limits.Edited && (is == "" || kindOf(is) == kindOf(was))) {
				found = append(found, fmt.Sprintf("job %s had the verdict %s, and at resourceVersion %s %s", uid, was, v.Object.GetResourceVersion(), is))
			}
			if is != "" {
				was = is
			}
		}
	}
	return found
}

// kindOf a verdict is Succeeded or Failed.
func kindOf(verdict string) string {
	kind, _, _ := strings.Cut(verdict, " ")
	return kind
}

// verdict of a job; "" if it has none. A Failed that says that the spec is invalid goes when it is repaired.
func verdict(job *unstructured.Unstructured) string {
	for _, c := range history.Conditions(job) {
		if c.Status == "True" && (c.Type == "Succeeded" || c.Type == "Failed" && c.Reason != "InvalidSpec") {
			at, _, _ := unstructured.NestedString(job.Object, "status", "completionTime")
			return c.Type + " at " + at
		}
	}
	return ""
}

// fresh: nothing is read as of any time that the API server likes.
func (c *aCase) fresh() (found []string) {
	for _, e := range c.lists {
		if e.Query.Get("resourceVersion") == "0" {
			found = append(found, fmt.Sprintf("%s %s at resourceVersion 0", e.Verb, e.Resource))
		}
	}
	return found
}
