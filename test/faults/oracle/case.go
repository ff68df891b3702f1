package oracle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// Case is what there is to judge from.
type Case struct {
	Subject  history.Subject
	Versions []history.Version // in the order of their resourceVersions
	// Objects are those of the subject's name, one after another: of each its versions, in that order.
	Objects        map[types.UID][]history.Version
	Journal, Lists []proxy.Entry
	Limits         Limits
	rules          Rules
}

func newCase(rules Rules, run *history.Run, journal, lists []proxy.Entry, limits Limits) *Case {
	if limits.Notice == 0 {
		limits.Notice = time.Second
	}
	c := &Case{Subject: run.Subject(), Versions: run.Versions(), Journal: journal, Lists: lists, Limits: limits, rules: rules,
		Objects: map[types.UID][]history.Version{}}
	for _, v := range c.Versions {
		if c.Is(v) {
			c.Objects[v.Object.GetUID()] = append(c.Objects[v.Object.GetUID()], v)
		}
	}
	return c
}

// Is says whether a version is of the subject itself.
func (c *Case) Is(v history.Version) bool { return v.Resource == c.Subject.Resource }

// Deleted says whether the operator asked for the end of the object of a version, and the API server granted it.
func (c *Case) Deleted(v history.Version) bool {
	return slices.ContainsFunc(c.Journal, func(e proxy.Entry) bool {
		return e.Verb == "delete" && took(e) && e.Resource == v.Resource.Resource && condition(e) == v.Object.GetUID()
	})
}

// Created says whether the operator asked for the object of a version, and the API server granted it.
func (c *Case) Created(v history.Version) bool {
	return slices.ContainsFunc(c.Journal, func(e proxy.Entry) bool {
		return e.Verb == "create" && took(e) && e.Resource == v.Resource.Resource && strings.Contains(string(e.Body), string(v.Object.GetUID()))
	})
}

// conditional: nothing is deleted but what was seen: every DELETE names a UID.
func conditional(c *Case) (found []string) {
	for _, e := range c.Journal {
		if e.Verb == "deletecollection" || e.Verb == "delete" && condition(e) == "" {
			found = append(found, fmt.Sprintf("%s %s %s without a UID as precondition", e.Verb, e.Resource, e.Name))
		}
	}
	return found
}

// at is the version of its object that a request names, or "": it takes effect on that version alone.
func at(e proxy.Entry) string {
	var body struct {
		Preconditions struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"preconditions"`
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if json.Unmarshal(e.Request.Body, &body) != nil {
		return ""
	}
	if e.Verb == "delete" {
		return body.Preconditions.ResourceVersion
	}
	return body.Metadata.ResourceVersion
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

// ours: no object was changed or deleted that a job of the run did not control.
func ours(c *Case) (found []string) {
	for _, e := range c.Journal {
		if !took(e) || e.Verb == "create" || e.Verb == "get" || e.Group == c.Subject.Resource.Group && e.Resource == c.Subject.Resource.Resource || e.Resource == "events" {
			continue
		}
		if e.Subresource == "status" && slices.Contains(c.rules.Serves, e.Resource) {
			continue // it is what the operator says of an object that it serves
		}
		object := c.before(e)
		if object == nil {
			continue // it was nothing that is in the history, which the counts tell of
		}
		if owner := c.Controller(object, e.Began); c.Objects[owner] == nil && !c.adopts(e, owner) {
			found = append(found, fmt.Sprintf("%s %s %s, which %s controls", e.Verb, e.Resource, e.Name, orNobody(owner)))
		}
	}
	return found
}

// adopts says whether a request does no more than to make an object of the run the controller of one that has none.
func (c *Case) adopts(e proxy.Entry, owner types.UID) bool {
	var body struct {
		Metadata struct {
			OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
		} `json:"metadata"`
	}
	if !c.rules.Adopts || owner != "" || e.Verb != "patch" || json.Unmarshal(e.Request.Body, &body) != nil {
		return false
	}
	return slices.ContainsFunc(body.Metadata.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Controller != nil && *o.Controller && c.Objects[o.UID] != nil
	})
}

func orNobody(uid types.UID) string {
	if uid == "" {
		return "nobody"
	}
	return "somebody else (" + string(uid) + ")"
}

// took: the API server did what was asked.
func took(e proxy.Entry) bool { return e.Forwarded && e.Code >= 200 && e.Code < 300 }

// before is the object of a request at the version that the request names, or as it was told last before the request: watches tell
// at different times. The UID says which, if the request does.
func (c *Case) before(e proxy.Entry) *unstructured.Unstructured {
	uid := condition(e)
	var first, last *history.Version
	for i := range c.Versions {
		v := &c.Versions[i]
		if v.Resource.Resource != e.Resource || v.Resource.Group != e.Group || v.Object.GetName() != e.Name || v.Object.GetNamespace() != e.Namespace || uid != "" && v.Object.GetUID() != uid {
			continue
		}
		if version := at(e); version != "" && version == v.Object.GetResourceVersion() {
			return v.Object
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
func noneLate(c *Case) (found []string) {
	for _, l := range c.late() {
		if l.known > c.Limits.Notice {
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
			found = append(found, late{v, c.Began(v).Sub(c.Objects[owner][i].At)})
		}
	}
	return found
}

// counts says, by resource and name, how often each object was made and deleted, those left out that were made late.
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

// NameOf an object of a run, by which it is counted: with its namespace, if that is not the subject's.
func NameOf(s history.Subject, u *unstructured.Unstructured) string {
	if namespace := u.GetNamespace(); namespace != s.Namespace {
		return namespace + "/" + history.NameOf(u)
	}
	return history.NameOf(u)
}

// Began is when the creation of an object was asked for; if nobody wrote that down, when it was told.
func (c *Case) Began(v history.Version) time.Time {
	for _, e := range c.Journal {
		if e.Verb == "create" && e.Resource == v.Resource.Resource && e.Name == v.Object.GetName() && took(e) && strings.Contains(string(e.Body), string(v.Object.GetUID())) {
			return e.Began
		}
	}
	return v.At
}

// Elsewhere judges the writes that concern no object of the rig's: an operator has nothing to change there (O6). Leases and events are
// about itself, and reviews change nothing.
func Elsewhere(journal []proxy.Entry) (found []Violation) {
	for _, e := range journal {
		if !slices.Contains([]string{"events", "leases"}, e.Resource) && e.Group != "authentication.k8s.io" && e.Group != "authorization.k8s.io" {
			found = append(found, Violation{"O6", fmt.Sprintf("%s %s %s/%s, which has nothing to do with any object that it serves", e.Verb, e.Resource, e.Namespace, e.Name)})
		}
	}
	return found
}

// fresh: nothing is read as of any time that the API server likes.
func fresh(c *Case) (found []string) {
	for _, e := range c.Lists {
		if e.Query.Get("resourceVersion") == "0" {
			found = append(found, fmt.Sprintf("%s %s at resourceVersion 0", e.Verb, e.Resource))
		}
	}
	return found
}
