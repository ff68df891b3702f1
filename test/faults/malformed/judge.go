package malformed

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stoic/schema"
	"stoic/test/faults/history"
	"stoic/test/faults/mutation"
)

// moreVersions and moreEvents are what an object may have beyond a healthy one of the kind. A malformed object is rejected once,
// instead of the course of a healthy one; one that was valid has both; and the operator corrects what others write into a status.
const moreVersions, moreEvents = 10, schema.MaxReported + 10

// ended reports whether an object has reached the end that its converter predicts, and what is missing.
//
//	the converter returns   the condition Stalled    reported in events
//	an object               not True, others are     each of its first warnings
//	a rejection             True                     each of its first problems, and how many more there are
func (o *object) ended(s seen) (ok bool, missing string) {
	switch {
	case s.object == nil:
		return false, "no watch has told of it"
	case s.gone:
		return false, "it has gone"
	case observed(s.object) != o.generation:
		return false, fmt.Sprintf("its status is about generation %d, not %d: %v", observed(s.object), o.generation, s.object.Object["status"])
	}
	stalled, conditions := history.Is(s.object, "Stalled"), history.Conditions(s.object)
	list, more := o.said.Warnings, o.said.MoreWarnings
	if o.said.Rejection != nil {
		list, more = o.said.Rejection.Problems, o.said.Rejection.More
	}
	switch {
	case len(conditions) == 0:
		return false, "it has no condition"
	case stalled != (o.said.Rejection != nil):
		return false, fmt.Sprintf("the condition Stalled is True: %v; the converter says %v", stalled, o.said.Rejection)
	}
	for _, p := range list {
		if !s.reported(func(e sentence) bool { return e.path == p.Path }) {
			return false, fmt.Sprintf("no event tells of %s; there are %v", p, s.events)
		}
	}
	if more > 0 && !s.reported(func(e sentence) bool { return strings.HasPrefix(e.message, "... and ") }) {
		return false, fmt.Sprintf("no event tells of %d more problems; there are %v", more, s.events)
	}
	return true, ""
}

func (s seen) reported(is func(sentence) bool) bool {
	for _, e := range s.events {
		if is(e) {
			return true
		}
	}
	return false
}

// judge returns the violations of an object that has reached its end.
func (o *object) judge(s seen) (found []string) {
	add := func(format string, values ...any) { found = append(found, fmt.Sprintf(format, values...)) }
	if o.said.Panic != nil {
		add("the converter panics: %s", o.said.Panic.Cause)
	}
	if r := o.said.Rejection; r != nil && !o.repaired {
		if !slices.ContainsFunc(r.Problems, func(p schema.Problem) bool { return o.Touches(p.Path, p.String()) }) && r.More == 0 {
			add("it is rejected for what was not changed: %v", r.Problems)
		}
	}
	if o.What == mutation.None().What && s.reported(needless) {
		add("nothing is wrong with it, and its author is warned: %v", s.events)
	}
	// This does not depend on the converter: the schema alone says so. An empty object in a field without effect counts as a
	// missing field, as some programs write such objects.
	if empty := o.What == "an empty object" && o.said.Rejection == nil; !empty && o.Contradicts && (o.Part == mutation.Present || o.Part == mutation.Absent) && !o.repaired {
		path := o.Path.String()
		if !s.reported(func(e sentence) bool { return e.kind == "Warning" && e.path == path }) {
			add("what stands at %s is of no type that the schema allows, and nobody is told: %v; events %v", path, history.Conditions(s.object), s.events)
		}
	}
	if o.said.Rejection == nil && history.State(s.object).Type == "" && !s.reported(func(e sentence) bool { return e.kind == "Warning" }) {
		add("it is neither rejected nor acted on, and nobody is told: %v", history.Conditions(s.object))
	}
	healthy := o.healthy[o.base]
	if most := healthy.versions + moreVersions; s.versions > most {
		add("%d versions, at most %d", s.versions, most)
	}
	times := 0
	for _, e := range s.events {
		times += int(e.count)
		if odd(e.message) || odd(e.path) {
			add("an event has characters that confuse a terminal: %q", e.message)
		}
	}
	if most := healthy.events + moreEvents; times > most {
		add("%d events, at most %d", times, most)
	}
	for _, c := range history.Conditions(s.object) {
		if odd(c.Message) || odd(c.Type) || odd(c.Reason) {
			add("a condition has characters that confuse a terminal: %q", c.Message)
		}
	}
	return append(found, o.statusProblems(s.object)...)
}

// needless reports whether an event warns about an object without errors. An exception: a busy API server answers 404 to a
// RoleBinding whose Role it has just created; the operator reports that, and creates the RoleBinding a moment later.
func needless(e sentence) bool {
	return e.kind == "Warning" && !(strings.Contains(e.message, "rolebindings.rbac.authorization.k8s.io") && strings.HasSuffix(e.message, "not found"))
}

// statusProblems returns what the shipped schema finds in the status that the operator has written. An unknown field is the
// operator's mistake, unless the mutation has put it there: then it may be another client's, and stays until the next status
// write, as two clients would otherwise overwrite each other forever.
func (o *object) statusProblems(u *unstructured.Unstructured) (found []string) {
	for _, p := range o.inStatus(u) {
		if p.Code != schema.UnknownField || !slices.Contains(o.foreign, p.Path) {
			found = append(found, "its status is none that the schema allows: "+p.String())
		}
	}
	return found
}

// inStatus returns what the shipped schema finds in a status.
func (o *object) inStatus(u *unstructured.Unstructured) []schema.Problem {
	whole := map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind(), "metadata": map[string]any{"name": "x"}, "spec": o.valid["spec"], "status": u.Object["status"]}
	checked := o.strict.Check(&unstructured.Unstructured{Object: whole})
	return slices.DeleteFunc(append(checked.Problems, checked.Warnings...), func(p schema.Problem) bool { return !mutation.Related(p.Path, "status") })
}

// unknown returns the paths of the fields of a status that the shipped schema does not declare.
func (o *object) unknown(u *unstructured.Unstructured) (paths []string) {
	for _, p := range o.inStatus(u) {
		if p.Code == schema.UnknownField {
			paths = append(paths, p.Path)
		}
	}
	return paths
}

// odd reports whether a text has control characters, or characters that reorder what a terminal shows.
func odd(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
	})
}
