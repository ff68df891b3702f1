package controller

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"stoic/controller/plan"
	"stoic/schema"
)

// listed makes one event for each resource of which something was done: "Created pods: a-ps-0, a-worker-0..3".
// A thousand pods are one sentence. It is told once, now: no later pass plans it again.
func (l *kindLoop) listed(verb string, names map[schema.Resource][]string) []plan.Event {
	var events []plan.Event
	for resource, named := range names {
		noun := resource.Kind
		switch resource {
		case schema.Pods(), schema.Services():
			noun = strings.ToLower(resource.Kind)
		case l.kind.Resource():
			noun = "job"
		}
		if len(named) > 1 {
			noun += "s"
		}
		events = append(events, plan.Event{Type: corev1.EventTypeNormal,
			Reason:   reasons(l.kind, strings.ToLower(strings.TrimSuffix(verb, "d")), resource).done,
			Message:  verb + " " + noun + ": " + ranges(named),
			Occasion: l.options.Now().Format(time.RFC3339Nano)})
	}
	slices.SortFunc(events, func(a, b plan.Event) int { return strings.Compare(a.Reason, b.Reason) })
	return events
}

// reasons of the events that tell a write of a resource, done or failed. The job itself is deleted when its time to
// live is over. An update is told only if it failed.
func reasons(kind *schema.Kind, verb string, r schema.Resource) (reason struct{ done, failed string }) {
	extra := r.ExtraReasons()
	switch {
	case isExtra(kind, r) && verb == "create":
		reason.done, reason.failed = extra.Created, extra.CreateFailed
	case isExtra(kind, r) && verb == "update":
		reason.failed = extra.UpdateFailed
	case isExtra(kind, r):
		reason.done, reason.failed = extra.Deleted, extra.DeleteFailed
	case verb == "create" && r == schema.Pods():
		reason.done, reason.failed = schema.ReasonCreatedPod, schema.ReasonCreatePodFailed
	case verb == "create":
		reason.done, reason.failed = schema.ReasonCreatedService, schema.ReasonCreateServiceFailed
	case r == schema.Pods():
		reason.done, reason.failed = schema.ReasonDeletedPod, schema.ReasonDeletePodFailed
	case r == schema.Services():
		reason.done, reason.failed = schema.ReasonDeletedService, schema.ReasonDeleteServiceFailed
	default:
		reason.done, reason.failed = schema.ReasonDeletedJob, schema.ReasonDeleteJobFailed
	}
	return reason
}

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
