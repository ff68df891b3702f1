package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"stoic/test/faults/history"
	"stoic/test/faults/proxy"
)

// Informed returns the rules for writes about a training job whose author is known to have observed all that was reported by
// Limits.Known. It may still believe in the version of then, and in each one since.
//
//	a write                 may only
//	POST                    be for a job that is neither deleted nor over nor suspended nor malformed, in some version that the
//	                        operator may believe in, and of a replica that this version asks for
//	DELETE of a dependent   be of what the job does not ask for in some such version, or of a pod that has failed
//	DELETE of the job       happen when it is over
//	anything else           change the job, or a dependent that is neither a pod nor a service, and keep the terminal condition
func Informed() Rules {
	rules := Jobs()
	rules.Always = []func(*Case) []string{onePod, informed}
	return rules
}

func informed(c *Case) (found []string) {
	for _, e := range c.Journal {
		if !took(e) || e.Resource == "events" || e.Verb == "get" {
			continue
		}
		isSubject := e.Group == c.Subject.Resource.Group && e.Resource == c.Subject.Resource.Resource
		switch {
		case e.Verb == "create":
			found = append(found, c.creation(e)...)
		case e.Verb == "delete":
			found = append(found, c.deletion(e, isSubject)...)
		case isSubject:
			found = append(found, c.statusKept(e)...)
		case e.Resource == "pods" || e.Resource == "services":
			found = append(found, fmt.Sprintf("%s %s %s: nothing of this kind is ever changed", e.Verb, e.Resource, e.Name))
		}
	}
	return found
}

// believes reports whether the author of a request may believe in a version of the subject for which this is true.
func (c *Case) believes(e proxy.Entry, is func(job history.Version) bool) bool {
	var versions []history.Version
	for _, v := range c.Versions {
		if c.Is(v) {
			versions = append(versions, v)
		}
	}
	return slices.ContainsFunc(believable(versions, e.Began, c.Limits.Known(e, c.Subject.Resource.Resource)), is)
}

// believable returns the versions of one object that a process may take for the present one: the last that it knows, and all later.
func believable(versions []history.Version, now, known time.Time) (found []history.Version) {
	for i, v := range versions {
		isLast := i+1 == len(versions) || versions[i+1].At.After(now)
		if !v.At.After(now) && (v.At.After(known) || isLast || versions[i+1].At.After(known)) {
			found = append(found, v)
		}
	}
	return found
}

func (c *Case) creation(e proxy.Entry) (found []string) {
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(e.Request.Body); err != nil {
		return []string{fmt.Sprintf("create %s %s: %v", e.Resource, e.Name, err)}
	}
	owner := c.rules.Owner(made)
	for problem, isRight := range map[string]func(history.Version) bool{
		"for a job that is gone or going, and the operator knew": func(v history.Version) bool {
			return v.Type != watch.Deleted && v.Object.GetDeletionTimestamp() == nil
		},
		"for a job that is over, and the operator knew": func(v history.Version) bool { return terminal(v.Object) == "" },
		"which the job does not ask for":                func(v history.Version) bool { return c.asks(v, e) },
	} {
		if !c.believes(e, func(v history.Version) bool { return v.Object.GetUID() == owner && isRight(v) }) {
			found = append(found, fmt.Sprintf("%s %s was made %s", e.Resource, e.Name, problem))
		}
	}
	slices.Sort(found)
	return found
}

// asks reports whether a version of the job asks for the object of a request.
func (c *Case) asks(v history.Version, e proxy.Entry) bool {
	if isSuspended(v.Object) || c.malformed(v.Object) != "" {
		return false
	}
	return e.Resource != "pods" && e.Resource != "services" || hasReplica(v.Object, e.Name)
}

func (c *Case) malformed(job *unstructured.Unstructured) string {
	if c.Limits.Malformed == nil {
		return ""
	}
	return c.Limits.Malformed(job)
}

func (c *Case) deletion(e proxy.Entry, isSubject bool) []string {
	isOver := func(v history.Version) bool {
		return terminal(v.Object) != "" || strings.Contains(v.Object.GetAnnotations()[history.LedgerAnnotation], `"verdict"`)
	}
	isUnwanted := func(v history.Version) bool {
		return isSuspended(v.Object) || isOver(v) || !hasReplica(v.Object, e.Name)
	}
	object := c.before(e)
	switch {
	case isSubject && !c.believes(e, isOver):
		return []string{"the job was deleted, which is not over"}
	case isSubject, history.Phase(object) == "Failed", c.believes(e, isUnwanted):
		return nil
	}
	return []string{fmt.Sprintf("%s %s was deleted, which the job asks for", e.Resource, e.Name)}
}

// statusKept: a write to the job keeps its terminal condition.
func (c *Case) statusKept(e proxy.Entry) []string {
	was := c.before(e)
	if was == nil {
		return nil
	}
	for _, v := range c.Objects[was.GetUID()] {
		if !v.At.After(e.Began) {
			continue
		}
		if before, after := kindOf(terminal(was)), kindOf(terminal(v.Object)); before != "" && before != after {
			return []string{fmt.Sprintf("the terminal condition %s became %q", before, after)}
		}
		return nil
	}
	return nil
}

func isSuspended(job *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(job.Object, "spec", "runPolicy", "suspend")
	return suspended
}
