package apply

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/controller/watch"
	"stoic/schema"
)

// ReasonNameConflict: an object of another owner has the name of a child.
const ReasonNameConflict = "NameConflict"

// listed makes one event for each resource of which something was written: "Created pods: a-ps-0, a-worker-0..3". A thousand pods are one
// sentence. It is emitted once, now: no later reconcile plans it again.
func (a *Applier) listed(verb string, names map[schema.Resource][]string) []schema.Event {
	var events []schema.Event
	for resource, named := range names {
		reason := reasonOf(a.reasons(resource), strings.ToLower(strings.TrimSuffix(verb, "d")), true)
		if reason == "" {
			continue
		}
		noun := a.nounOf(resource)
		if len(named) > 1 {
			noun += "s"
		}
		events = append(events, schema.Event{Type: corev1.EventTypeNormal, Reason: reason,
			Message:  verb + " " + noun + ": " + ranges(named),
			Occasion: a.Now().Format(time.RFC3339Nano)})
	}
	slices.SortFunc(events, func(a, b schema.Event) int { return strings.Compare(a.Reason, b.Reason) })
	return events
}

// nounOf returns what events call objects of a resource.
func (a *Applier) nounOf(r schema.Resource) string {
	switch r {
	case schema.Pods(), schema.Services():
		return strings.ToLower(r.Kind)
	case a.Resource:
		return a.Noun
	}
	return r.Kind
}

// reasons returns the reasons of events about writes of a resource, which may be the object's own: a plan may delete the object.
func (a *Applier) reasons(r schema.Resource) watch.Reasons {
	if r == a.Resource {
		return a.Reasons
	}
	if d := a.dependents(r); d != nil {
		return d.Reasons
	}
	return watch.Reasons{}
}

// reasonOf returns the reason for a write that was done or failed. An update is reported only if it failed.
func reasonOf(r watch.Reasons, verb string, done bool) string {
	switch {
	case verb == "create" && done:
		return r.Created
	case verb == "create":
		return r.CreateFailed
	case verb == "delete" && done:
		return r.Deleted
	case verb == "delete":
		return r.DeleteFailed
	case !done:
		return r.UpdateFailed
	}
	return ""
}

// refusal returns the event for a write that failed for a reason that the user should know. Another refusal for the same cause is the
// same event, although the API server then names another child or other numbers.
func (a *Applier) refusal(doing string, err error, occasion string) schema.Event {
	event := schema.Event{Type: corev1.EventTypeWarning, Reason: a.FailedReason,
		Message: "Error " + doing + ": " + err.Error(), Occasion: occasion}
	var write *writeError
	switch {
	case isForeign(err):
		event.Reason, event.Message = ReasonNameConflict, err.Error()
	case errors.As(err, &write):
		if reason := reasonOf(a.reasons(write.resource), write.verb, false); reason != "" {
			event.Reason = reason
		}
		if !isElsewhere(err) {
			event.Key = write.verb + " " + write.resource.Kind + ": " + string(causeOf(err))
		}
	}
	if isCreation(err) || isForeign(err) {
		event.Count = &schema.Count{Counter: schema.CountRefused, Reason: string(causeOf(err))}
	}
	return event
}

// unanswered returns the event for a creation that the API server has not completed in time, several times in a row. The first time is
// not reported: an outage of the API server does not concern the author of the object, but a pod that is too costly to validate does.
func (a *Applier) unanswered(err error, occasion string) schema.Event {
	var c *costlyError
	if errors.As(err, &c) {
		err = c
	}
	event := a.refusal("creating", err, occasion)
	event.Message += "; the API server has not completed it in time, again: it is tried less often until the object is edited"
	event.Key, event.Count = "create: timeout", nil
	return event
}

// report emits what was written, and the first failure that the user can act on.
func (a *Applier) report(head *schema.Head, doing, verb string, names map[schema.Resource][]string, failed []error) {
	events := a.listed(verb, names)
	for _, err := range failed {
		if isForAuthor(err) {
			events = append(events, a.refusal(doing, err, occasion(head)))
			break
		}
	}
	a.Events.Emit(head, events)
}

// occasion returns the occasion of an event that may happen again for every generation of an object.
func occasion(head *schema.Head) string { return fmt.Sprintf("generation %d", head.Meta.Generation) }

// ranges writes names that differ only in a counted-up number as one: a-0, a-1, a-2 -> a-0..2.
func ranges(names []string) string {
	type item struct {
		stem     string
		from, to int // to < from: no number
		name     string
	}
	items := make([]item, len(names))
	for i, name := range names {
		items[i] = item{stem: name, to: -1, name: name}
		if dash := strings.LastIndexByte(name, '-'); dash >= 0 {
			if n, err := strconv.Atoi(name[dash+1:]); err == nil && n >= 0 {
				items[i] = item{stem: name[:dash+1], from: n, to: n, name: name}
			}
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(strings.Compare(a.stem, b.stem), a.from-b.from) })
	var parts []string
	for i := 0; i < len(items); {
		first, last := items[i], items[i]
		for i++; i < len(items) && first.to >= 0 && items[i].stem == first.stem && items[i].from == last.to+1; i++ {
			last = items[i]
		}
		part := first.name
		if last.to > first.from {
			part += ".." + strconv.Itoa(last.to)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
