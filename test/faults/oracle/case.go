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

// Case is the evidence of one run.
type Case struct {
	Subject  history.Subject
	Versions []history.Version // in the order of their resourceVersions
	// Objects are those with the subject's name, one after another: for each its versions, in the same order.
	Objects map[types.UID][]history.Version
	Journal []proxy.Entry
	Limits  Limits
	rules   Rules
}

func newCase(rules Rules, run *history.Run, journal []proxy.Entry, limits Limits) *Case {
	if limits.Notice == 0 {
		limits.Notice = time.Second
	}
	c := &Case{Subject: run.Subject(), Versions: run.Versions(), Journal: journal, Limits: limits, rules: rules,
		Objects: map[types.UID][]history.Version{}}
	for _, v := range c.Versions {
		if c.Is(v) {
			c.Objects[v.Object.GetUID()] = append(c.Objects[v.Object.GetUID()], v)
		}
	}
	return c
}

// Is reports whether a version is one of the subject itself.
func (c *Case) Is(v history.Version) bool { return v.Resource == c.Subject.Resource }

// conditional: only observed objects are deleted: every DELETE names a UID.
func conditional(c *Case) (found []string) {
	for _, e := range c.Journal {
		if e.Verb == "deletecollection" || e.Verb == "delete" && condition(e) == "" {
			found = append(found, fmt.Sprintf("%s %s %s without a UID as precondition", e.Verb, e.Resource, e.Name))
		}
	}
	return found
}

// condition returns the UID that a request names.
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

// ours: no object was changed or deleted that no job of the run ever controlled.
func ours(c *Case) (found []string) {
	for _, e := range c.Journal {
		if !took(e) || e.Verb == "create" || e.Verb == "get" || e.Resource == c.Subject.Resource.Resource || e.Resource == "events" {
			continue
		}
		uid := condition(e)
		isKnown := false
		isOurs := false
		owner := types.UID("")
		for _, v := range c.Versions {
			if v.Resource.Resource == e.Resource && v.Object.GetName() == e.Name && v.Object.GetNamespace() == e.Namespace && (uid == "" || v.Object.GetUID() == uid) {
				isKnown = true
				owner = c.Controller(v.Object)
				isOurs = isOurs || c.Objects[owner] != nil
			}
		}
		if isKnown && !isOurs { // the counts cover what the history does not have
			found = append(found, fmt.Sprintf("%s %s %s, which %s controls", e.Verb, e.Resource, e.Name, orNobody(owner)))
		}
	}
	return found
}

// Controller returns the UID of the object that controls an object: the subject also if the object is a pod of a batch/v1 Job that the
// subject controls; "" if nothing controls it.
func (c *Case) Controller(u *unstructured.Unstructured) types.UID {
	owner := c.rules.Owner(u)
	for _, v := range c.Versions {
		if c.Objects[owner] == nil && owner != "" && v.Object.GetUID() == owner {
			return c.rules.Owner(v.Object)
		}
	}
	return owner
}

func orNobody(uid types.UID) string {
	if uid == "" {
		return "nobody"
	}
	return "somebody else (" + string(uid) + ")"
}

// took reports whether the API server did what the request said.
func took(e proxy.Entry) bool { return e.Forwarded && e.Code >= 200 && e.Code < 300 }

// noneLate: nothing is created for a job whose deletion the operator has had time to observe.
func noneLate(c *Case) (found []string) {
	for _, l := range c.late() {
		if l.known > c.Limits.Notice {
			found = append(found, fmt.Sprintf("%s %s was made for a job whose deletion was known for %v", l.Resource.Resource, l.Object.GetName(), l.known))
		}
	}
	return found
}

// late is the first version of an object that was created for a job after its deletion.
type late struct {
	history.Version
	known time.Duration // how long before the creation the deletion was reported
}

// late lists them all. No operator can avoid creating one in the moment of the deletion: the deletions of the job's dependents
// may be reported before the job's own. Garbage collection deletes it.
func (c *Case) late() (found []late) {
	seen := map[types.UID]bool{}
	for _, v := range c.Versions {
		uid, owner := v.Object.GetUID(), c.rules.Owner(v.Object)
		if seen[uid] || c.Is(v) || v.Resource.Resource == "events" {
			continue
		}
		seen[uid] = true
		i := slices.IndexFunc(c.Objects[owner], func(j history.Version) bool {
			return j.Object.GetDeletionTimestamp() != nil || j.Type == watch.Deleted
		})
		if i >= 0 && history.Revision(v.Object) >= history.Revision(c.Objects[owner][i].Object) {
			found = append(found, late{v, c.began(v).Sub(c.Objects[owner][i].At)})
		}
	}
	return found
}

// counts returns, by resource and name, how often each object was created and deleted. Objects that were created late are left out.
func (c *Case) counts() (created, deleted map[string]map[string]int) {
	created, deleted = map[string]map[string]int{}, map[string]map[string]int{}
	born, gone := map[types.UID]bool{}, map[types.UID]bool{}
	for _, l := range c.late() {
		born[l.Object.GetUID()], gone[l.Object.GetUID()] = true, true
	}
	for _, v := range c.Versions {
		if v.Resource.Resource == "events" {
			continue
		}
		if uid := v.Object.GetUID(); !born[uid] {
			born[uid] = true
			c.step(created, v)
		}
		if uid := v.Object.GetUID(); v.Type == watch.Deleted && !gone[uid] {
			gone[uid] = true
			c.step(deleted, v)
		}
	}
	return created, deleted
}

func (c *Case) step(counts map[string]map[string]int, v history.Version) {
	if counts[v.Resource.Resource] == nil {
		counts[v.Resource.Resource] = map[string]int{}
	}
	counts[v.Resource.Resource][NameOf(c.Subject, v.Object)]++
}

// NameOf returns the name under which an object of a run is counted: with its namespace, if that is not the subject's.
func NameOf(s history.Subject, u *unstructured.Unstructured) string {
	if namespace := u.GetNamespace(); namespace != s.Namespace {
		return namespace + "/" + history.NameOf(u)
	}
	return history.NameOf(u)
}

// began returns when the creation of an object was requested; if the journal does not have the request, when the object was reported.
func (c *Case) began(v history.Version) time.Time {
	for _, e := range c.Journal {
		if e.Verb == "create" && e.Resource == v.Resource.Resource && e.Name == v.Object.GetName() && took(e) && strings.Contains(string(e.Body), string(v.Object.GetUID())) {
			return e.Began
		}
	}
	return v.At
}
